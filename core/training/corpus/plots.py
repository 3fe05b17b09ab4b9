"""Plots of the short stories. In each, the same hero, friend, prize and place go through all the parts.

``<he>``, ``<him>``, ``<his>`` are the hero's pronouns, ``<she>``, ``<her>``, ``<hers>`` the friend's.
"""

from __future__ import annotations

OPENINGS = (
    "Once upon a time there was a(n) <person_quality> <work> called <hero> who lived in <land>.",
    "Once upon a time there lived a(n) <work> called <hero> in a(n) <place_quality> village near <land>.",
    "Once upon a time, in <land>, there lived a(n) <person_quality> <work> called <hero>.",
    "Once upon a time there was a(n) <work> in <land>. <His> name was <hero>.",
    "<Hero> was a(n) <person_quality> <work> in <land>.",
    "In a(n) <place_quality> house near <land> lived a(n) <work> called <hero>.",
    "Long ago a(n) <person_quality> <work> called <hero> lived near the <spot>.",
    "There was once a(n) <work> called <hero>. <He> was the most <superlative> <work> in <land>.",
    "Many years ago, when the world was young, <hero> was a(n) <work> in <land>.",
)

DETAILS = (
    "<He> lived alone with a(n) <animal_quality> <pet>.",
    "Everybody in <land> knew <him>.",
    "<His> house was full of books about <subject>.",
    "<He> liked <food> and <drink> more than anything else.",
    "<He> could play the <instrument> better than anybody else.",
    "People said that <he> talked to the trees.",
    "At night <he> listened to the wind and thought about <subject>.",
    "<He> was poor, but <he> was never sad.",
    "<He> had worked hard all <his> life.",
    "Every morning <he> walked to the <spot> and back.",
)

PLOTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "lost": (
        (
            "One day <he> lost <his> <prize>.",
            "One morning <his> <prize> was gone.",
            "One <weekday> somebody stole <his> <prize>.",
        ),
        (
            "<He> looked for it at the <spot> and at the <other_spot>, but it was not there.",
            "<He> looked under the <thing> and behind the <thing>, but the <prize> was nowhere.",
            "<He> asked everybody in <land>, but nobody had seen the <prize>.",
        ),
        (
            "Then <he> met <friend>, who was sitting near the <spot>.",
            "In the evening <friend> came to <his> door.",
            "On the way home <he> met a(n) <person_quality> <other_work> called <friend>.",
        ),
        (
            '"What are you looking for?" asked <friend>. "I have lost my <prize>," said <hero>.',
            '"Why are you so sad?" asked <friend>. "My <prize> is gone," said <hero>.',
            '"Can I help you?" asked <friend>. "Only if you have seen my <prize>," said <hero>.',
        ),
        (
            '"Come with me," said <friend>. Together they went to the <other_spot>.',
            '"I saw it at the <other_spot>," said <friend>, and they ran there together.',
            "<Friend> smiled and opened <hers> bag.",
        ),
        (
            "There was the <prize>, and it was not even broken.",
            "And there it was: the <prize>, wet and dirty, but whole.",
            "A(n) <animal_quality> <beast> was sitting on the <prize>.",
        ),
    ),
    "journey": (
        (
            "One day <he> wanted to see the world.",
            "One day <he> had enough of <land> and wanted to see the sea.",
            "But more than anything <he> wanted to see <goal>.",
        ),
        (
            "So <he> packed a(n) <thing> and some <food> and left at <hour>.",
            "<He> took <his> <prize>, closed the door and went away without a word.",
            "<He> said goodbye to <friend> and took the road to <goal>.",
        ),
        (
            "<He> walked for <number> days and slept in the <spot>.",
            "The road was long, and the nights were cold.",
            "It rained every day, but <he> did not turn back.",
        ),
        (
            "In a(n) <place_quality> <other_spot> <he> met a(n) <animal_quality> <beast>.",
            "Suddenly a(n) <animal_quality> <beast> stood in front of <him>.",
            "One evening <he> heard a strange sound. It was a(n) <animal_quality> <beast>.",
        ),
        (
            '"Where are you going?" asked the <beast>. "I am going to <goal>," said <hero>.',
            '"Do not be afraid," said the <beast>. "I only want to talk."',
            '"I am hungry," said the <beast>, and <hero> gave it all <his> <food>.',
        ),
        (
            "From then on they travelled together, and at last they came to <goal>.",
            "The <beast> showed <him> the way, and <number> days later <he> was in <goal>.",
            "After a year <he> came to <goal>, but it was not what <he> had expected.",
        ),
    ),
    "contest": (
        (
            "One day the king was looking for the best <work> in the land.",
            "One day in <month> they held a great feast in <land>, with a prize for the best <work>.",
        ),
        (
            "The prize was a(n) <thing_quality> <prize>.",
            "The best one was to get a golden <prize>.",
            "Whoever won was to get a(n) <prize> made of <material>.",
        ),
        (
            '"I will never win," said <hero>. "You must try," said <friend>.',
            '"You are the best," said <friend>, but <hero> did not believe <her>.',
            "<Hero> was so nervous that <he> could not sleep.",
        ),
        (
            "On the first day <he> was very bad, and everybody laughed.",
            "Another <work> from <goal> was faster and louder.",
            "<Number> people tried before <him>, and they were all very good.",
        ),
        (
            "Then <he> remembered what <his> <elder> had told <him>: do it <manner>.",
            "Then <friend> smiled at <him>, and <he> was not afraid any more.",
            "But <he> worked <manner> and did not listen to the others.",
        ),
        (
            "In the end the king gave the <prize> to <hero>.",
            "When the evening came, <hero> had won the <prize>.",
            "<Hero> did not win, but <friend> gave <him> a(n) <thing_quality> <thing>.",
        ),
    ),
    "animal": (
        (
            "One evening <he> found a(n) <animal_quality> <beast> at <his> door.",
            "One day in <month> <he> found a(n) <beast> in the <spot>.",
            "On a cold morning a(n) <animal_quality> <beast> came into <his> garden.",
        ),
        (
            "It was hurt and could not move.",
            "It was hungry and very tired.",
            "It looked at <him> and did not run away.",
        ),
        (
            "<He> <adverb> carried it into the house and gave it some <food>.",
            "<He> gave it <food> and <drink> and put it on a soft <soft>.",
            "<He> put it into a(n) <thing_quality> <container> near the fire.",
        ),
        (
            '"You cannot keep it," said <friend>. "It belongs to the forest."',
            '"What is its name?" asked <friend>. "It will tell us when it wants to," said <hero>.',
            "<Friend> brought some <food> and stayed all night.",
        ),
        (
            "After <number> days the <beast> was strong again.",
            "When spring came, the <beast> was well again.",
            "Soon the <beast> followed <him> to the <spot> and back.",
        ),
        (
            "Then it went away, but every year it came back to see <him>.",
            "It stayed with <him> and slept next to <his> <prize>.",
            "One night it disappeared, and in its place lay a(n) <prize> made of <material>.",
        ),
    ),
    "letter": (
        (
            "One morning <he> found a letter under the door.",
            "One day <he> got a letter from <goal>.",
            "On <weekday> the postman brought <him> a(n) <colour> letter.",
        ),
        (
            '"Come to the <spot> at <hour>," it said. There was no name on it.',
            '"I know where the <prize> is," it said. "Come to the <spot> at <hour>."',
            '"Dear <hero>, come to the <spot> and bring your <prize>," it said.',
        ),
        (
            "<He> did not know who had written it.",
            "<He> read it <number> times and put it into <his> pocket.",
            '"It must be a joke," <he> thought, but <he> could not forget it.',
        ),
        (
            "At <hour> <he> went to the <spot>. It was dark, and nobody was there.",
            "The <spot> was empty. Only a(n) <animal_quality> <beast> was sitting there.",
        ),
        (
            'Then <he> heard a voice. "I have waited for you for <number> years," said <friend>.',
            'Then a door opened, and there stood <friend>. "At last you are here," <she> said.',
            'Behind the <thing> stood <friend>. "I wrote the letter," <she> said.',
        ),
        (
            "They sat down and talked until the morning.",
            "<Friend> gave <him> the <prize>, and they went home together.",
            "They had not seen each other since they were children.",
        ),
    ),
    "secret": (
        (
            "Behind <his> house there was a(n) <place_quality> <spot> where nobody ever went.",
            "One night <he> had a dream about a(n) <colour> <prize> in a(n) <place_quality> <spot>.",
            "An old man told <him> about a(n) <prize> that was hidden in the <spot>.",
        ),
        (
            "<He> took a lamp and went there with <friend>.",
            "<He> told <friend> about it, and they went there at night.",
            "<Friend> laughed at <him>, but <he> went there all the same.",
        ),
        (
            "The door was closed, and the key was lost.",
            "It was so dark that they could not see anything.",
            "On the floor lay a(n) <thing_quality> <thing> made of <material>.",
        ),
        (
            '"Listen," said <friend>. "Somebody is singing."',
            '"Somebody has been here before us," said <friend>.',
            '"Be careful," said <friend>. "There is a(n) <beast> behind the <thing>."',
        ),
        (
            "<Hero> <adverb> opened the old <thing>.",
            "<Hero> <adverb> moved the <thing>, and behind it they found a small door.",
            "They looked behind the <thing> and under the <thing>.",
        ),
        (
            "There was the <prize>, and it shone like the sun.",
            "There lay the <prize>, but when <he> touched it, it turned to dust.",
            "In it was the <prize>, and next to it a letter for <hero>.",
        ),
    ),
}

ENDINGS = (
    "From that day on <he> was never alone again.",
    "From that day on <hero> and <friend> were friends.",
    "When <he> came home, everybody was waiting for <him>.",
    "And so <hero> learned to listen before <he> talked.",
    "They lived happily in the house near the <spot>.",
    "<He> never told anybody about it, but <he> was happy.",
    "And if you go to <land> today, you can still see the <prize>.",
    "Since then <he> has never been afraid of the dark.",
    "And if they have not died, they are still living there today.",
    "People in <land> still talk about it.",
)

TITLES = (
    "The <Prize>",
    "<Hero> and the <Beast>",
    "<Hero> and <Friend>",
    "The <Work> of <Land>",
    "The <Thing_quality> <Prize>",
    "The Secret of the <Spot>",
)

REQUESTS = (
    "Can you tell me a story about a(n) <work>?",
    "Please tell us a story about a(n) <beast>.",
    "Tell us a story.",
    "Tell us a story about <hero>.",
    "Tell me about <hero> and the <beast>.",
    "Tell me a tale about a(n) <prize>.",
    "I want to hear a story.",
    "Do you know a story about a(n) <beast>?",
)

SHORT_PLOTS = ("lost", "contest", "animal")
"""Those whose first two parts and last one make a story of their own."""

MANNERS = ("slowly", "quietly", "carefully", "patiently", "calmly", "bravely")
SUPERLATIVES = ("famous", "patient", "curious", "stubborn", "talented", "generous", "careful")
