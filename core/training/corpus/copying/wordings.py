"""Ways to say a fact and to ask for it beyond those of ``told_facts``: other words, frames, two in one."""

from __future__ import annotations

from random import Random

MORE_TOLD: tuple[tuple[str, ...], ...] = (
    (
        "{a} is standing in the {b}",
        "{a} was seen in the {b}",
        "{a} ran into the {b}",
        "{a} sleeps in the {b}",
        "{a} works in the {b}",
        "{a} has gone to the {b}",
        "{a} came into the {b}",
        "{a} hides in the {b}",
        "{a} is still in the {b}",
        "{a} spent the day in the {b}",
        "in the {b} sits {a}",
        "in the {b} we met {a}",
        "I left {a} in the {b}",
        "somebody saw {a} in the {b}",
        "the {b} is where {a} is",
        "the one who is in the {b} is {a}",
        "{a} returned to the {b}",
        "{a} travelled to the {b}",
    ),
    (
        "{a} has lived in {b} for years",
        "{a} grew up in {b}",
        "{a} has a flat in {b}",
        "{a} is from {b}",
        "{a} settled in {b}",
        "{a} is at home in {b}",
        "{b} is where {a} lives",
        "the town of {a} is {b}",
        "in {b} lives {a}",
        "{a} found a room in {b}",
        "{a} calls {b} home",
        "you can visit {a} in {b}",
        "{a} now lives in {b}",
        "the house of {a} stands in {b}",
        "{a} never left {b}",
        "{a} and the children live in {b}",
    ),
    (
        "{a} found the {b}",
        "{a} owns the {b}",
        "{a} got the {b}",
        "{a} carries the {b}",
        "{a} stole the {b}",
        "{a} holds the {b}",
        "{a} picked up the {b}",
        "{a} has bought the {b}",
        "we gave {a} the {b}",
        "somebody lent {a} the {b}",
        "the {b} is owned by {a}",
        "the owner of the {b} is {a}",
        "{a} is the owner of the {b}",
        "it was {a} who took the {b}",
        "the {b} is now with {a}",
        "{a} went away with the {b}",
        "in the bag of {a} is the {b}",
    ),
    (
        "{a} is our {b}",
        "{a} is the {b}",
        "{a} earns a living as a(n) {b}",
        "{a} was trained as a(n) {b}",
        "{a} is known as a good {b}",
        "the {b} of the village is {a}",
        "the {b} here is {a}",
        "as a(n) {b} we have {a}",
        "{a} has found work as a(n) {b}",
        "by trade {a} is a(n) {b}",
        "{a} has always been a(n) {b}",
        "the name of the {b} is {a}",
        "a(n) {b} called {a} works here",
        "{a} likes to be a(n) {b}",
        "{a} is employed as a(n) {b}",
    ),
    (
        "the age of {a} is {b}",
        "{a} is now {b}",
        "{a} is {b} years of age",
        "{a} has turned {b}",
        "{a} was {b} last week",
        "{a} is already {b}",
        "{a} is only {b}",
        "at {b} {a} is still strong",
        "{a} will be {b} tomorrow",
        "{a} is at the age of {b}",
        "the cake of {a} had {b} candles",
        "{b} years is the age of {a}",
        "{a} celebrated {b} years",
    ),
    (
        "the colour of the {a} is {b}",
        "somebody painted the {a} {b}",
        "we saw a {b} {a}",
        "this {a} is {b}",
        "the {a} looks {b}",
        "{b} is the colour of the {a}",
        "a {b} {a} stands here",
        "the {a} was always {b}",
        "I bought a {b} {a}",
        "the {a} was painted {b}",
        "they sell a {b} {a}",
        "the {a} over there is {b}",
    ),
    (
        "the {a} was {b}",
        "the {a} is quite {b}",
        "the {a} seems {b}",
        "the {a} looks {b}",
        "the {a} is still {b}",
        "the {a} has always been {b}",
        "that {a} is really {b}",
        "it is a {b} {a}",
        "I have never seen a {a} so {b}",
        "this {a} is not as {b} as that one, but still {b}",
        "the {a} is rather {b}",
        "the {a} feels {b}",
        "it is the {a} that is {b}",
        "the {a} will be {b} soon",
    ),
    (
        "the {a} is sold for {b}",
        "the {a} was {b}",
        "we paid {b} for the {a}",
        "they want {b} for the {a}",
        "the {a} is offered at {b}",
        "{b} is what the {a} costs",
        "{b} is the price of the {a}",
        "one pays {b} for the {a}",
        "I bought the {a} for {b}",
        "the {a} is worth {b}",
        "somebody sold the {a} for {b}",
        "the shop asks {b} for the {a}",
        "the {a} now costs {b}",
        "the bill for the {a} was {b}",
        "you have to pay {b} for the {a}",
    ),
    (
        "{a} sent a letter to {b}",
        "{a} has written to {b}",
        "{b} got a letter from {a}",
        "{b} heard from {a}",
        "there was a message from {a} for {b}",
        "{a} sent {b} a long letter",
        "{a} answered {b}",
        "the letter of {a} went to {b}",
        "{a} often writes to {b}",
        "{b} received a card from {a}",
    ),
    (
        "I left the {a} in the {b}",
        "the {a} stands in the {b}",
        "the {a} is kept in the {b}",
        "we found the {a} in the {b}",
        "somebody carried the {a} to the {b}",
        "the {a} was forgotten in the {b}",
        "the {a} is somewhere in the {b}",
        "the {a} belongs in the {b}",
        "in the {b} stands the {a}",
        "in the {b} they keep the {a}",
        "the {b} is where the {a} is",
        "the {a} was seen in the {b}",
        "the {a} has been brought to the {b}",
        "the {a} is hidden in the {b}",
        "the {b} has a(n) {a}",
    ),
)
"""Clauses of each of ``told_facts.FACTS``, in its order, that say it in other words."""

MORE_SENTENCES: tuple[tuple[str, ...], ...] = (
    (
        "Go to the {b} if you look for {a}.",
        "Meet {a} in the {b}!",
        "Look, {a} is coming out of the {b}.",
        "If you want {a}, try the {b}.",
        "Where {a} is? In the {b}.",
        "We all went to the {b}, even {a}.",
        "To the {b}, {a}!",
        "You can talk to {a} in the {b}.",
    ),
    (
        "{a}, at home in {b}, is my friend.",
        "Letters to {a} go to {b}.",
        "{b}: that is where {a} lives.",
        "Greetings from {b}, {a}.",
        "Go to {b} to see {a}.",
        "What would {b} be without {a}?",
        "They brought {a} home to {b}.",
        "{a} of {b} is here.",
    ),
    (
        "Ask {a} for the {b}.",
        "Here, {a}, take the {b}!",
        "We sold the {b} to {a}.",
        "Look at {a} with the {b}.",
        "Nobody but {a} has the {b}.",
        "Please return the {b} to {a}.",
        "The {b} is not mine; it is {a}'s.",
        "The {b} is now in the hands of {a}.",
    ),
    (
        "{a}, the {b}, is here.",
        "Here comes the {b}, {a}.",
        "Ask {a}, our {b}.",
        "{a}? A good {b}.",
        "This is {a}, a(n) {b}.",
        "You need a(n) {b}? Call {a}.",
        "{a} wanted to be a(n) {b} and is one.",
        "The new {b} we have is {a}.",
    ),
    (
        "{a}, aged {b}, smiled.",
        "{a} ({b}) came, too.",
        "Here comes {a}, {b} years old.",
        "Happy birthday, {a}, you are {b}!",
        "{a}? {b} years old.",
        "After {b} years {a} knows life.",
        "{b} years ago {a} was born.",
        "Little {a} has reached {b}.",
    ),
    (
        "What a {b} {a}!",
        "See the {b} {a} there?",
        "Take the {a}, the {b} one.",
        "Paint the {a} {b}!",
        "{b} is a good colour for the {a}.",
        "The {a}? It is {b}.",
        "Here is the {a} in {b}.",
        "I lost a {a}; it was {b}.",
    ),
    (
        "What a {b} {a}!",
        "So {b} is this {a}!",
        "The {a}? Much too {b}.",
        "Is the {a} not {b}?",
        "Be careful, the {a} is {b}!",
        "I do not like the {a}, it is so {b}.",
        "They made the {a} {b}.",
        "The {a} has turned {b}.",
    ),
    (
        "Pay {b} and take the {a}.",
        "The {a} for {b}: take it!",
        "With {b} the {a} is yours.",
        "Who gives me {b} for the {a}?",
        "{b} buys you the {a}.",
        "The {a}? That makes {b}.",
        "Take {b} with you when you buy the {a}.",
        "At {b} the {a} is cheap.",
    ),
    (
        "{a} has news for {b} in a letter.",
        "A letter from {a} reached {b}.",
        "Dear {b}, many greetings, {a}.",
        "Did {b} read what {a} wrote?",
        "To {b} from {a}, with love.",
        "Every week {a} sends {b} a page.",
    ),
    (
        "Look for the {a} in the {b}.",
        "Go to the {b} and bring me the {a}.",
        "Put the {a} back in the {b}!",
        "The {a}? It stands in the {b}.",
        "You can see the {a} in the {b}.",
        "The {b} is empty but for the {a}.",
        "Take the {a} out of the {b}.",
        "There it is, the {a} in the {b}!",
    ),
)
"""Whole sentences of each that say it."""

MORE_SECOND: tuple[tuple[str, ...], ...] = (
    ("Where is {a} now?", "Tell me where {a} is.", "Do you know where {a} is?", "Where has {a} gone?"),
    ("In which town does {a} live?", "Where is the home of {a}?", "Tell me where {a} lives.", "{a} lives where?"),
    ("What did {a} get?", "Which thing does {a} have?", "What is owned by {a}?", "Tell me what {a} has."),
    ("What is the job of {a}?", "As what does {a} work?", "What is the work of {a}?", "Tell me the job of {a}."),
    ("Age of {a}?", "How many years old is {a}?", "Tell me how old {a} is.", "Which age has {a}?"),
    ("What is the colour of the {a}?", "Tell me the colour of the {a}.", "Colour of the {a}?"),
    ("How does the {a} look?", "Tell me how the {a} is.", "How is the {a} now?"),
    ("How expensive is the {a}?", "Price of the {a}?", "Tell me the price of the {a}.", "What must I pay for the {a}?"),
    ("Who heard from {a}?", "Whom did {a} write to?", "Tell me to whom {a} wrote."),
    ("In which place is the {a}?", "Where do I find the {a}?", "Tell me where the {a} is.", "Where is the {a} kept?"),
)
"""Questions of each whose answer is ``{b}``."""

FRAMES = ("{Clause}.",) * 20 + (
    "{Clause}!",
    "I think that {clause}.",
    "I heard that {clause}.",
    "As far as I know, {clause}.",
    "{Clause}, I believe.",
    "{Clause}, as you know.",
    "Everybody knows that {clause}.",
    "They say that {clause}.",
    "It is true that {clause}.",
    "Note that {clause}.",
    "{Clause}, and that is good.",
    "{Clause}, is that not nice?",
    "Believe me, {clause}.",
    "Today {clause}.",
    "Well, {clause}.",
    "So {clause}.",
    "By the way, {clause}.",
    "We all know that {clause}.",
    "{Clause}, they told me.",
    "Did you know that {clause}?",
    "It seems that {clause}.",
)
"""What may stand around a clause."""
_JOINED = (
    "{First}, and {second}.",
    "{First}, but {second}.",
    "{First}; {second}.",
    "{First} while {second}.",
    "While {first}, {second}.",
    "{First}, whereas {second}.",
    "{First}. And {second}.",
)
QUESTION_FRAMES = ("{question}",) * 8 + (
    "Question: {question}",
    "Now tell me: {question}",
    "And now: {question}",
    "One question: {question}",
    "Please answer: {question}",
)


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def framed(random: Random, clause: str) -> str:
    """A clause as a sentence, sometimes inside another."""
    return random.choice(FRAMES).format(clause=clause, Clause=capital(clause))


def is_sentence(text: str) -> bool:
    """Whether a clause has its end."""
    return text.endswith((".", "!", "?"))


def told_in_sentences(random: Random, clauses: list[str]) -> list[str]:
    """Clauses, some of which are sentences already, as sentences; sometimes two are in one."""
    found: list[str] = []
    rest = list(clauses)
    while rest:
        clause = rest.pop(0)
        if is_sentence(clause):
            found.append(clause)
        elif rest and random.random() < 0.2 and not is_sentence(rest[0]):
            other = rest.pop(0)
            found.append(
                random.choice(_JOINED).format(first=clause, First=capital(clause), second=other, Second=capital(other))
            )
        else:
            found.append(framed(random, clause))
    return found
