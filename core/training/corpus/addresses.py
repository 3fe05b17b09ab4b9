"""Web addresses and e-mail addresses, alone or as the answer to a question."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .knowledge import COUNTRIES
from .lexicon import RULES, words
from .songs import band

_RULES: dict[str, tuple[str, ...]] = {
    "word": words(
        "music radio songs sound records books garden bread travel river north green silver star moon "
        "city house market school library science photo weather news coffee bike health kitchen forest museum "
        "film letter train ocean art bird animal flower mountain island history language paper window winter "
        "summer golden happy quiet clever little house bridge castle tea food sport game chess poem "
        "story dance guitar piano theatre "
    ),
    "site": (
        "<left=word><right=word>",
        "<word>",
        "the<left=word><right=word>",
        "my<word>",
        "<word>online",
        "<word>shop",
    ),
    "path": (
        "",
        "",
        "",
        "/<word>",
        "/<word>/<word>",
        "/about",
        "/contact",
        "/index.html",
        "/<word>?page=2",
        "/en/<word>",
    ),
    "top": ("com", "com", "com", "com", "org", "org", "net", "edu", "ai"),
    "scheme": ("https://www.", "https://www.", "https://www.", "https://", "http://www."),
    "url": ("<scheme><site>.<top><path>",),
    "music_site": words("music songs radio sound records concert tunes audio melody playlist"),
    "music_word": words("river silver north star moon city house green ocean blue forest my super daily open"),
    "music_url": (
        "https://www.<music_word><music_site>.com",
        "https://www.<music_word><music_site>.com",
        "https://www.<music_site>online.com",
        "https://www.<music_site>shop.com",
        "https://<music_word><music_site>.com",
        "http://www.<music_word><music_site>.<top>",
        "https://www.<plain_name>.com",
        "https://www.<plain_name>music.com",
    ),
    "user": ("<name>", "<name>.<surname>", "info", "contact", "office", "hello", "<surname>", "shop", "team", "help"),
    "email": ("<user>@<site>.<top>",),
    "singer": ("<band>", "<band>", "<plain_band>"),
    "ask_song": (
        "Where can I hear <singer> songs<end>",
        "Where can I find <singer> songs<end>",
        "Where can I find songs by <singer><end>",
        "Where can I listen to songs by <singer><end>",
        "Where can I listen to <singer><end>",
        "Where can I listen to the new album by <singer><end>",
        "Where can I listen to <singer> online<end>",
        "Where can I buy <singer> records<end>",
        "Where can we listen to <singer> songs<end>",
        "How can I listen to <singer> songs<end>",
        "Where do you listen to <singer> songs<end>",
    ),
    "end": ("?", "?", "", " online?", " online"),
    "ask_site": (
        "Where can I read more about <subject>?",
        "Where can I buy a(n) <thing>?",
        "What is the address of your website?",
        "Which website is about <subject>?",
        "Where can I find the news about <city>?",
        "Where can I learn <language> online?",
        "Where can I order <food>?",
    ),
    "at": (" ", " ", "\n", " At ", " You can find it at ", " Try ", " On the website "),
    "plain_url": (
        "<url>",
        "See <url> for more.",
        "Our website is <url>.",
        "Website: <url>",
        "URL: <url>",
        "Visit us at <url> <when>!",
        "Open <url> in your browser.",
        "More about <subject>: <url>",
        "The address of the <place> is <url>.",
    ),
    "plain_email": (
        "<email>",
        "E-mail: <email>",
        "Email: <email>",
        "Please write to <email>.",
        "My e-mail address is <email>.",
        "You can reach <name> at <email>.",
        "From: <email>\nTo: <email>",
        "Contact: <email>",
        "What is your e-mail address? It is <email>.",
        "Questions about <subject>? Write to <email> or call us <when>.",
        "Write an e-mail to <email>.",
        "Write to <email> for more.",
        "Send the <thing> to <name>, <email>.",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)


def url(random: Random) -> str:
    """A web address, alone or in a short sentence."""
    return _lower_addresses(_GRAMMAR.write(random, "plain_url"))


def email(random: Random) -> str:
    """An e-mail address, alone or in a short sentence."""
    return _lower_addresses(_GRAMMAR.write(random, "plain_email"))


def website_question(random: Random) -> str:
    """A question where to listen, buy or read, answered by a web address."""
    if random.random() < 0.7:
        name = band(random)
        asked = _GRAMMAR.write(random, "ask_song", band=name, plain_band=name.lower())
        plain_name = "".join(filter(str.isalpha, name.lower()))
        address = _GRAMMAR.write(random, "music_url", plain_name=plain_name)
    else:
        language = random.choice(COUNTRIES).language
        asked, address = _GRAMMAR.write(random, "ask_site", language=language), _GRAMMAR.write(random, "url")
    joint = _GRAMMAR.write(random, "at")
    if not asked.endswith("?") and joint.strip():
        joint = " "
    stop = "." if joint.strip() and random.random() < 0.7 else ""
    return f"{asked}{joint}{address}{stop}"


def _lower_addresses(text: str) -> str:
    """Addresses are drawn from names with capitals; they are written in lower case."""
    return " ".join(
        "\n".join(part.lower() if "@" in part or "://" in part else part for part in word.split("\n"))
        for word in text.split(" ")
    )
