"""Sentences for generated mails, chats, subtitles and comments, all written for this file."""

from __future__ import annotations

SENTENCES = """
Thank you for getting back to me so quickly.
I hope this finds you well.
Could we move the meeting to next week?
The numbers look better than last month, but there is still a lot to do.
Please let me know if you have any questions.
I was not sure whether you had seen the last message.
We will send the invoice by the end of the week.
She said she would call as soon as she got home.
There is a small problem with the second page.
Nobody knows when the train is going to leave.
If it rains tomorrow, we can still meet inside.
He looked out of the window and did not say anything.
What do you think about the new plan?
It would be great to have this done before the holidays.
I have attached the latest version of the report.
They had been waiting for more than an hour.
The old house at the end of the street has been sold.
You can find the details in the document I shared yesterday.
We should talk about this when everyone is back.
I think we are almost there.
That is not what I meant at all.
Do you want me to bring anything?
The children were playing in the garden until it got dark.
Let us try again with a smaller group first.
It is easier to explain this on the phone.
My sister is coming to visit us in the spring.
There was nothing left to eat in the kitchen.
We went for a long walk along the river.
I would rather stay at home tonight.
The teacher asked them to open their books.
As far as I know, nothing has changed since then.
How long does it take to get there by bus?
The water was cold, but we went swimming anyway.
Please do not reply to this address.
You have received this message because you asked for updates.
The order has been shipped and should arrive within three days.
We are sorry for the delay and thank you for your patience.
I will be out of the office until Monday.
Most people agree that the first part is the best.
Why did nobody tell me about it?
He had never seen so many people in one place.
The answer depends on how the question is asked.
She opened the door and let the cat in.
Both of them were right in their own way.
This will not work without a second pair of hands.
Sometimes the simplest idea turns out to be the best one.
I forgot my keys again this morning.
The city looks different at night.
We have known each other for almost twenty years.
It might be better to wait until we have more information.
There are three things we need to decide today.
The first one is the budget for the coming year.
After dinner they sat by the fire and told stories.
Can you hear me now?
I can see you, but I cannot hear you.
The results were surprising, to say the least.
Everyone was tired, but nobody wanted to go to bed.
If you change your mind, just write to me.
We would like to invite you to a short interview.
The room is booked from two until four.
He paid for the coffee and left without another word.
It has been snowing since early this morning.
The doctor told her to rest for a few days.
They built the bridge more than a hundred years ago.
This is the first time that I have tried it.
Would it be possible to get a copy of the contract?
I am looking forward to hearing from you.
The second half of the film was much better than the first.
You were right about the weather.
We lost our way in the forest and had to turn back.
There must be a reason for it.
The new version fixes several problems and adds a search field.
Please check the list and tell me what is missing.
All files are kept for thirty days and then removed.
The server will be down for about ten minutes tonight.
Nothing in the data suggests that this is true.
We tested it on two machines and got the same result.
I do not understand why it is so slow.
It works on my machine, but it fails in the tests.
The function returns the number of items that were found.
Make sure that the file exists before you open it.
This option has no effect when the cache is disabled.
Returns an empty list if there is no match.
The default value is good enough for most users.
Remove this when the old interface is gone.
See the documentation for a complete example.
He smiled and shook his head.
"Where have you been?" she asked.
"I don't know," he said, "but I will find out."
It was late, and the streets were empty.
The sun was already high when they finally reached the village.
Her mother had always told her to be careful.
I've never heard of it, but it doesn't surprise me.
We're going to need a bigger table.
That's the best news I've had all day!
Don't worry, you'll get used to it.
You shouldn't have said that in front of everyone.
It isn't fair, and you know it.
They couldn't believe what they saw.
What's the matter with you today?
I'd like to help, but I don't have time right now.
He's been working on it since last summer.
Let's see what happens when we turn it on.
There's no need to hurry.
Who's going to clean all this up?
She wasn't at home when I called.
We haven't decided where to go yet.
The price has gone up by almost ten percent.
More than half of the people who were asked said yes.
According to the report, sales fell in the first quarter.
The government announced new rules for small companies.
The team won the last three games of the season.
Researchers found that the method works in most cases.
The law was changed in order to protect the environment.
Prices are expected to rise again next year.
Two people were injured, but nobody was killed.
The museum is open every day except Tuesday.
Add the flour and stir until the mixture is smooth.
Bake for about forty minutes and let it cool.
Turn left at the station and follow the road to the lake.
Keep this medicine out of the reach of children.
Once upon a time there lived a king who had three daughters.
The book tells the story of a young woman who leaves her family.
The party may terminate this agreement with thirty days' notice.
All rights and duties under this section remain in force.
The court held that the claim was not sufficient.
In the case of a dispute, the parties shall first try to find a solution.
The theory explains why the values differ from each other.
For every number there is a larger one.
We show that the problem can be solved in linear time.
Figure 2 shows how the error depends on the size of the sample.
The students were divided into four groups.
Light travels faster than sound.
The heart pumps blood through the body.
In the nineteenth century the region was still covered by forest.
The river flows through the valley into the sea.
The language is spoken by about two million people.
Many birds fly south before the winter begins.
A good question is often worth more than a quick answer.
Do not put off until tomorrow what you can do today.
""".strip().splitlines()
CHAT = """
ok|on my way|see you later|sounds good|thanks a lot|no problem|me too|what time|are you there|just woke up
so tired today|good morning everyone|good night|happy birthday|congrats|i love this|that's so cute|can't wait|same here
no way|omg|haha that's so true|lol what|i'm dying|this is amazing|miss you so much
best day ever|guess who's back|it's friday
let's gooo|you got this|so proud of you|have a great weekend|who's coming tonight|i need coffee|love it|not again
this made my day|i can't believe it|what are you doing|nothing much, you?|i'll call you in a minute|be there in ten
sorry i'm late|did you see that|check this out|wait what|oh no|nice one|well done|take care|get well soon|so true
idk|brb|btw i found your keys|tbh i don't really care|imo it's fine|thx|np|pls send it again|u there?|gonna be late
wanna grab lunch|how was your day|it was great, thanks|i don't think so|maybe tomorrow|let me check|give me a sec
looks good to me|can you review this|merged|build is green again|tests are failing on main|i'll take a look
works for me|which branch|have you tried turning it off and on again|it's working now|thanks for the help
anyone here know how to fix this|what does the error say|post the full log please|read the docs|which version
any news on this|any update|following|up|first|this|my cat is asleep on the keyboard|the food was so good
new post is up|link in bio|what a game|we won|what a goal|worst call ever|rainy day|sunset from last night|new shoes
movie night|pizza time|road trip|back to school|happy new year|merry christmas|thank you all for the kind words
""".replace("\n", "|").strip("|").split("|")
GREETINGS = ["Hi all,", "Hello,", "Dear team,", "Hi,", "Good morning,", "Dear all,", "Hi there,", "Hey,"]
CLOSINGS = ["Best regards,", "Thanks,", "Cheers,", "Kind regards,", "Best,", "Many thanks,", "See you soon,"]
