/**
 * Words that do not indicate what a note is about: words that every text contains, and words that only make a sentence a question.
 * The second kind matters more: a question word that no note contains would otherwise count as a missing match.
 * Words that have a meaning in another language of the list (German "die", French "pour" …) are left to their frequency.
 */
export const stopWords: ReadonlySet<string> = new Set(
  [
    "a an and are as at be been but by can could did do does for from get gets give given goes got had has have how i if in into is it its me may might must my of on or our should so such than that the their them then there these they this those to too us was we were what when where which while who whom whose why will with would you your about after before because any each every also just let many much more most no nor not only other out over own same some under up use used uses using very happen happens",
    "der das dem den des ein eine einen einem einer eines und oder ist sind wird werden wurde wurden nicht auch auf aus bei mit nach von vor zu zum zur im ins wie wann warum wer wem wen wo woher wohin welche welcher welches welchen wieso weshalb wieviel viele fur uber unter durch sich es er sie wir ihr mussen muss kann konnen haben hat beim am um als dass",
    "el los las una unos unas y o es son del al con por para que como cuando cuanto cuanta cuantos cuantas donde quien cual cuales se su sus lo le les mas pero muy ya sin sobre entre hasta desde esta este esto tanto hace",
    "le la les un une des du de et ou est sont dans avec sur par que qui quoi quand comment pourquoi combien quel quelle quels quelles ce cet cette ces il elle ils elles on nous vous ne pas plus se sa ses au aux sous lors doit t",
    "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее мне было вот от меня еще нет о из ему когда даже ну ли если уже или ни быть был него до вас нибудь опять сколько почему зачем где кто какои какая какие чем это для при можно",
    "من في على الى عن ان ما ماذا متى لماذا كيف اين هل هو هي هذا هذه التي الذي مع كل او ثم قد كم",
  ].flatMap((words) => words.split(" ")),
);

/** The same for scripts without spaces: the text is cut at each question word. Longest first; in normalized form. */
export const pauses = new RegExp(
  "什么时候|什么|为什么|怎么办|怎么样|怎么|怎样|如何|多少|多久|哪些|哪个|哪里|どのように|どうやって|ですか|ますか|でしたか|ました|でした|です|ます|いつ|なぜ|どこ|どう|何|อะไร|ทำไม|อย่างไร|เมื่อไร|เมื่อใด|เวลาใด|ที่ไหน|กี่|หรือไม่|ไหม|เพราะ".normalize(
    "NFKC",
  ),
  "u",
);
