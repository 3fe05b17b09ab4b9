"""The facts of the world of the corpus: countries, animals, jobs, things.

Sentences that are made from one row of a table agree with each other: the owl hunts mice, the baker works in a bakery.
"""

from __future__ import annotations

from typing import NamedTuple


class Country(NamedTuple):
    """A country, its capital, the language most people speak there, its continent."""

    name: str
    capital: str
    language: str
    continent: str


class Animal(NamedTuple):
    """An animal, where it lives, what it eats, what it can do (after "can")."""

    name: str
    home: str
    food: str
    skill: str


class Trade(NamedTuple):
    """A job, where it is done (after "works"), what one does (third person), a tool of it."""

    name: str
    where: str
    work: str
    tool: str


class Thing(NamedTuple):
    """A thing, what it is for (after "to"), what it is made of."""

    name: str
    use: str
    material: str


def rows(text: str) -> list[list[str]]:
    """The fields of a table, a row on each line, fields between bars."""
    return [[field.strip() for field in line.split("|")] for line in text.strip().splitlines()]


COUNTRIES = tuple(
    Country(*row)
    for row in rows("""
France | Paris | French | Europe
Germany | Berlin | German | Europe
Spain | Madrid | Spanish | Europe
Italy | Rome | Italian | Europe
Austria | Vienna | German | Europe
Portugal | Lisbon | Portuguese | Europe
Norway | Oslo | Norwegian | Europe
Ireland | Dublin | English | Europe
England | London | English | Europe
Poland | Warsaw | Polish | Europe
Greece | Athens | Greek | Europe
Finland | Helsinki | Finnish | Europe
Sweden | Stockholm | Swedish | Europe
Hungary | Budapest | Hungarian | Europe
Belgium | Brussels | Dutch | Europe
Denmark | Copenhagen | Danish | Europe
Iceland | Reykjavik | Icelandic | Europe
Romania | Bucharest | Romanian | Europe
Bulgaria | Sofia | Bulgarian | Europe
Croatia | Zagreb | Croatian | Europe
Serbia | Belgrade | Serbian | Europe
Slovenia | Ljubljana | Slovenian | Europe
Slovakia | Bratislava | Slovak | Europe
Estonia | Tallinn | Estonian | Europe
Latvia | Riga | Latvian | Europe
Lithuania | Vilnius | Lithuanian | Europe
Ukraine | Kyiv | Ukrainian | Europe
Albania | Tirana | Albanian | Europe
Turkey | Ankara | Turkish | Asia
Japan | Tokyo | Japanese | Asia
China | Beijing | Chinese | Asia
India | Delhi | Hindi | Asia
Thailand | Bangkok | Thai | Asia
Vietnam | Hanoi | Vietnamese | Asia
Indonesia | Jakarta | Indonesian | Asia
Nepal | Kathmandu | Nepali | Asia
Iran | Tehran | Persian | Asia
Iraq | Baghdad | Arabic | Asia
Jordan | Amman | Arabic | Asia
Lebanon | Beirut | Arabic | Asia
Mongolia | Ulaanbaatar | Mongolian | Asia
Egypt | Cairo | Arabic | Africa
Morocco | Rabat | Arabic | Africa
Tunisia | Tunis | Arabic | Africa
Kenya | Nairobi | Swahili | Africa
Ghana | Accra | English | Africa
Senegal | Dakar | French | Africa
Angola | Luanda | Portuguese | Africa
Peru | Lima | Spanish | South America
Chile | Santiago | Spanish | South America
Argentina | Buenos Aires | Spanish | South America
Colombia | Bogota | Spanish | South America
Uruguay | Montevideo | Spanish | South America
Ecuador | Quito | Spanish | South America
Cuba | Havana | Spanish | North America
Canada | Ottawa | English | North America
Australia | Canberra | English | Australia
""")
)

ANIMALS = tuple(
    Animal(*row)
    for row in rows("""
dog | in a house | meat and bones | bark at strangers
cat | in a house | fish and mice | climb trees
bird | in a nest | seeds and worms | fly and sing
horse | in a stable | grass and oats | run very fast
cow | on a farm | grass | give milk
sheep | in the hills | grass | give wool
goat | in the mountains | leaves and grass | climb steep rocks
rabbit | in a hole in the ground | carrots and grass | hop over a fence
fox | in a den in the forest | mice and berries | hide from the hunters
wolf | in the forest | meat | howl at the moon
bear | in a cave | honey and fish | sleep all winter
mouse | in a small hole | cheese and grain | hide under the floor
duck | on a pond | bread and water plants | swim and dive
owl | in an old tree | mice | see in the dark
frog | in a pond | flies | jump far
pig | on a farm | potatoes and apples | find food under the ground
hen | on a farm | grain | lay an egg every day
donkey | in a stable | hay | carry heavy bags
squirrel | in a tree | nuts | jump from branch to branch
hedgehog | under a hedge | worms and beetles | roll itself into a ball
turtle | near the sea | water plants | live for a hundred years
swan | on a lake | water plants | fly over the mountains
crow | in a tall tree | almost everything | open nuts with stones
deer | in the forest | leaves and bark | run without a sound
lion | in the grassland | meat | roar very loudly
tiger | in the jungle | meat | swim across rivers
elephant | in the grassland | leaves and fruit | remember everything
monkey | in the jungle | bananas and nuts | swing from tree to tree
giraffe | in the grassland | leaves from high trees | look over the trees
camel | in the desert | dry grass | walk for days without water
penguin | on the ice | fish | swim very fast
whale | in the ocean | small sea animals | dive very deep
dolphin | in the ocean | fish | jump out of the water
shark | in the ocean | fish | smell blood from far away
seal | on the coast | fish | hold its breath for a long time
octopus | at the bottom of the sea | crabs | change its colour
crab | on the beach | small fish | walk sideways
eagle | high in the mountains | mice and rabbits | see a mouse from the clouds
parrot | in the jungle | fruit and seeds | repeat words
pigeon | on the roofs of the city | bread and grain | find its way home
stork | on a chimney | frogs | fly to Africa
snake | under the stones | mice and eggs | move without legs
lizard | on a warm wall | flies | lose its tail
crocodile | in the river | fish and birds | wait for hours without moving
bee | in a hive | nectar | make honey
butterfly | in the meadow | nectar | fly from flower to flower
ant | in a hill of needles | seeds and sugar | carry more than its own weight
spider | in its web | flies | spin a net
snail | in its own shell | leaves | carry its house on its back
bat | in a dark cave | insects | fly in the dark
beaver | in a lodge on the river | bark | build dams
badger | in a hole under the trees | roots and worms | dig long tunnels
otter | on the bank of the river | fish | swim on its back
kangaroo | in the dry grassland | grass | jump over a car
koala | in a eucalyptus tree | leaves | sleep all day
zebra | in the grassland | grass | run in a large herd
""")
)

JOBS = tuple(
    Trade(*row)
    for row in rows("""
teacher | at a school | helps children to learn | blackboard
doctor | in a hospital | helps people who are ill | stethoscope
baker | in a bakery | bakes bread and cakes | oven
farmer | on a farm | grows vegetables and keeps animals | tractor
nurse | in a hospital | looks after the patients | thermometer
gardener | in a garden | looks after plants and trees | spade
driver | on the road | takes people from one place to another | bus
painter | in a studio | paints pictures | brush
writer | at a desk | writes novels and stories | pen
singer | on a stage | sings songs for an audience | microphone
carpenter | in a workshop | makes tables and chairs out of wood | saw
sailor | on a ship | crosses the sea | compass
cook | in a kitchen | prepares food for other people | pan
engineer | in an office | plans bridges and machines | computer
pilot | in the air | flies a plane | map
librarian | in a library | knows where every book stands | catalogue
tailor | in a workshop | makes coats and dresses | needle
musician | in a concert hall | plays music for others | violin
lawyer | in an office | explains the law to people | telephone
student | at a university | learns for the exams | notebook
journalist | at a newspaper | writes about what happens in the world | camera
photographer | in a studio | takes pictures | camera
mechanic | in a garage | repairs cars and engines | wrench
fisherman | on a boat | catches fish | net
butcher | in a shop | sells meat and sausages | knife
barber | in a small shop | cuts hair | pair of scissors
dentist | in a practice | looks after teeth | drill
postman | in the streets | brings letters and parcels | bicycle
policeman | in the city | keeps order in the streets | whistle
judge | in a court | decides who is right | book of laws
soldier | in the army | defends the country | helmet
scientist | in a laboratory | searches for new knowledge | microscope
astronomer | at an observatory | studies the stars and the planets | telescope
actor | in a theatre | plays many different people | mask
dancer | in a theatre | dances to the music | pair of shoes
waiter | in a restaurant | brings food and drinks to the guests | tray
shepherd | in the hills | takes care of sheep | stick
miner | under the ground | digs for coal and gold | lamp
blacksmith | in a forge | makes tools out of iron | hammer
watchmaker | in a small shop | repairs clocks and watches | magnifying glass
architect | in an office | draws plans for new houses | pencil
plumber | in other people's houses | repairs pipes and taps | wrench
electrician | in other people's houses | repairs lamps and cables | screwdriver
translator | at a desk | turns one language into another | dictionary
chemist | in a laboratory | mixes strange liquids | glass bottle
historian | in an archive | finds out what happened in the past | magnifying glass
detective | in the city | finds thieves and lost things | notebook
banker | in a bank | looks after other people's money | calculator
programmer | in an office | tells computers what to do | keyboard
florist | in a flower shop | sells flowers | pair of scissors
beekeeper | in a meadow | keeps bees and sells honey | hat
captain | on a ship | gives orders to the crew | telescope
clown | in a circus | makes people laugh | red nose
magician | on a stage | pulls rabbits out of a hat | wand
poet | in a quiet room | writes poems | pen
""")
)

THINGS = tuple(
    Thing(*row)
    for row in rows("""
book | learn something new | paper
lamp | see in the dark | glass
chair | sit on | wood
table | eat at | wood
clock | know the time | iron
key | open a door | iron
map | find the way | paper
boat | cross the river | wood
bicycle | ride to work | steel
umbrella | stay dry in the rain | cloth
coat | keep warm in winter | wool
hat | protect the head from the sun | felt
box | keep small things in | wood
bottle | carry water | glass
basket | carry apples home from the market | straw
candle | light a room | wax
mirror | see yourself | glass
ladder | climb up to the roof | wood
violin | play music | wood
guitar | accompany a song | wood
drum | beat the time | leather
camera | take pictures | plastic
radio | hear the news | plastic
telephone | speak to somebody far away | plastic
computer | write letters and do sums | plastic
kettle | boil water | copper
spoon | eat soup | silver
knife | cut bread | steel
fork | eat noodles | silver
plate | put food on | clay
cup | drink tea | clay
blanket | keep warm at night | wool
pillow | rest your head on | feathers
suitcase | carry clothes on a journey | leather
lantern | find the way at night | glass
notebook | write down ideas | paper
pencil | write or draw | wood
brush | paint a picture | hair
painting | decorate a wall | cloth
carpet | make a room warmer | wool
hammer | drive a nail into the wall | iron
saw | cut wood | steel
needle | sew on a button | steel
rope | tie up a boat | straw
bell | call the children | copper
compass | find the north | brass
telescope | look at the stars | brass
microscope | see very small things | brass
envelope | send a letter | paper
newspaper | know what happens in the world | paper
wallet | carry money | leather
ring | show that you are married | gold
scarf | keep your neck warm | silk
glove | keep your hand warm | leather
sword | fight | steel
shield | protect yourself | iron
wheel | move heavy things | wood
bucket | carry water from the well | iron
broom | sweep the floor | straw
oven | bake bread | iron
fridge | keep food cold | steel
sofa | rest after work | leather
shelf | put books on | wood
vase | put flowers in | glass
toothbrush | clean your teeth | plastic
whistle | call a dog | plastic
kite | play in the wind | paper
ball | play with friends | rubber
dictionary | look up words | paper
calendar | know what day it is | paper
typewriter | write letters | iron
flute | play a tune | wood
anchor | hold a ship in its place | iron
""")
)
