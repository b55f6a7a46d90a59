/** Short guide to the figures, written by hand. How they came about is in the decisions. */
export const READING_THE_FIGURES = `## Reading the figures

The speed of a machine changes by up to a half from one hour to another, so only ratios of one run compare.

**Verification.** [Decision 11](decisions/0011-a-known-header-costs-one-check.md) says why a known header costs one check, what
must stay true, and what each step saved.

**Cold start.** [Decision 12](decisions/0012-what-a-function-loads.md) says what functions no longer load and what that saves,
[decision 19](decisions/0019-schemas-are-made-late.md) why schemas are made late, and
[decision 30](decisions/0030-what-a-first-answer-still-takes.md) why what remains stays. \`provisionedConcurrency\` avoids cold
starts altogether.

**Storing and reading.** Requests grow only with new purchases. The service's own share is largest where a thousand transactions
come at once: parsing their payloads, joining them, and the answer. Purchases are compared by their fields and transactions told
apart by their signatures, because JSON texts and sets of whole texts were most of that share.
[Decision 2](decisions/0002-holdings-in-the-account.md) says what the write units of many lifetime products are.

**Notifications.** A notification costs the requests of a link by a known customer, and a replay writes nothing. By processor
time, the first answer of the iOS function takes a tenth more than that of a link: it checks one signature more and writes the
notification's time. The Android function takes a sixth more: it also verifies the push's token. In production, the stores' own
delay and the way to Google come on top of what is measured here.

**Refreshes.** The invocation every minute finds the queue leased and ends, so between an invocation's 210 seconds and the next one
up to 30 pass, in which nobody asks: 30 a second become 27.

**Cost.** API Gateway is two thirds of the price of a read, or of a synchronize that brings nothing new. Functions are less
than a tenth, so a slow function costs its caller time before it costs money. Of an Android notification they are a third:
the function waits for Google. Notifications are 3 % of the month.
`;
