/** Conclusions from the measurements, written by hand. Their figures are those of the day and are not measured again. */
export const FINDINGS = `## What the measurements showed, and what changed

Figures of 21 and 22 November 2026, on two processors. Two states of the code were measured one after the other on the same
machine. Its speed changes by up to a half from one hour to another, so only ratios of one run compare.

**Verification.** One JWS took 500 µs one at a time and 195 µs in a request of 100. The signature alone takes 130 to 145 µs.
The changes, one after the other:

| state                                                                                     | one at a time, µs | request of 100, µs |
| ----------------------------------------------------------------------------------------- | ----------------: | -----------------: |
| original: \`jose\` for each JWS, whose header is read twice, once by \`jose\`             |               500 |                195 |
| a known header is recognized by its text; a single JWS is checked in the function's thread |               177 |                138 |
| OpenSSL gets the signature in DER, with a bare key                                        |               137 |                 80 |
| for comparison: \`jose\` alone, key imported                                             |               345 |                134 |
| for comparison: Apple's library, offline                                                  |             2,400 |              2,400 |

[Decision 11](decisions/0011-a-known-header-costs-one-check.md) says what must stay true. The first JWS of a chain took 2.4
times the CPU time that Apple's library takes for each transaction. It takes 1.4 times that since sixty lines of our own
read the extensions. A function's environment verifies a chain once in its life.

**Cold start.** Load time relative to the document client, before and after (first answer in brackets):

| function                        |        before |         after |
| ------------------------------- | ------------: | ------------: |
| authorize-credential            | 1.54 × (1.33) | 0.77 × (0.76) |
| read-account-entitlements       | 1.59 × (1.57) | 0.79 × (0.87) |
| synchronize-ios-store-purchases | 1.77 × (2.07) | 0.86 × (1.21) |
| link-ios-store-customer         | 1.78 × (1.99) | 0.88 × (1.17) |
| link-android-store-customer     | 2.49 × (2.62) | 1.28 × (1.83) |

What was removed, and what it saves of a load or a first answer
([decision 12](decisions/0012-what-a-function-loads.md)):

| removed | saves |
| --- | --- |
| the SDK's \`import()\` of \`node:http\`, which loads Node's \`fetch\`, and modules wrapped in functions for lazy loading | of a first answer: iOS functions 16 to 18 %, reader 20 %, Android function 12 % |
| a library for all of ASN.1, to read certificates | 20 ms and more |
| sources of credentials other than the environment | 14 ms |
| schemas created before they are needed | 13 ms |
| \`zod\` in place of \`zod/mini\` | 11 ms |
| compiled parsers | 8 ms |
| kept names | 5 to 10 ms |
| the lookup of the AWS SDK's files | 5 ms |
| kinds of schema that are used once, and items that a function does not use | 2 to 6 % |

What Google's client loads besides itself is a sixth of the Android function's load.

Most of the saving is the document client's own: bundled like the functions, it takes 0.61 of its original time. An iOS
function's first answer takes twice as long as that.

The ratio depends on the machine: on 23 November 2026, with nothing else running, the first answer of \`link-ios-store-customer\` took
1.41 of the document client's (1.27 in CPU time). The code of the table above, which had taken 1.17, took 1.33 (1.20) in the same
rounds. So 6 % are what the service has learned since.

By profiles, the difference that remains between an iOS function and the same requests, signatures and libraries by hand is,
largest first: the service's own code, which V8 reads and compiles when it is first called; \`zod\`; the structured log and
the metrics (Powertools, 4 % of a first answer, measured by removing them) and larger responses of DynamoDB.

Tried and dropped, because runs differ by more than it saved:

- looking up the application while signatures are verified
- creating the schemas of the response while a request is on its way
- reading bundle and application with one kind of request
- not verifying the pinned root's own signature

Tried, and of no use in Lambda:

- V8's compile cache. With it, the first answer of \`link-ios-store-customer\` takes 1.20 of the document client's, in place of 1.41
  in the same rounds: compiling is the largest part of what is left. But a cache is valid for one build of Node and one set of
  flags, and Lambda chooses both.
- Flags of V8. A larger young generation takes 3 % off the processor time; flags that change how code is compiled cost 10 to 14 %,
  because Node's own modules come compiled for the usual flags.

\`provisionedConcurrency\` avoids cold starts altogether. [Decision 30](decisions/0030-what-a-first-answer-still-takes.md) says
why what remains stays.

**Storing and reading.** Requests are as few as the design says, and grow only with new purchases. The service's own share is
largest where a thousand transactions come at once. It was 21 % of a replay once verification took a third of its former time.
Three changes made it 13 to 15 %: purchases are compared by their fields, not as JSON texts; each reference is written once, not in
every comparison of a sort; and nothing is joined where a line occurs once. Then verification became faster again, and the share
of a first synchronize of 1,000 renewals was 18 %, 11 ms. Half of that told the transactions apart: a \`Set\` hashes every character
of every text. Now their signatures do, and it is 7 %. What remains is parsing a thousand payloads, joining them, and the answer. Small
replays took 0.8 ms of 6 until the bench warmed them up as well; now 0.6 of 5. The largest share is that of a replay of 1,000 separate
purchases, 15 %. (Synchronize and link, by size, were measured anew after that on 23 November; all other
sections earlier that day.)

What is owned for ever is written whole in two items with each new purchase. An account with 1,000 such products pays 412
write units for the next one, and one with a subscription pays 8. Nobody has 1,000 of them; with ten it is 12.

**Notifications.** A notification costs the requests of a link by a known customer, and a replay writes nothing. By processor time, the
first answer of the iOS function takes a tenth more than that of a link: it checks one signature more and writes the
notification's time. The Android function takes a sixth more: it also verifies the push's token, with \`jose\` and Google's
keys. Renewal infos do not change the units of a read. From the sandbox store to the read that shows the change takes tens of
milliseconds. In production, the stores' own delay and the way to Google come on top.

**Refreshes.** A worker wrote its lease with every batch, once a second. A lease outlasts a turn of ten seconds, so one write
a turn is enough: 39 in place of 372 for 10,000 refreshes. The invocation every minute finds the queue leased and ends, so
between an invocation's 210 seconds and the next one up to 30 pass, in which nobody asks: 30 a second become 27.

**Schemas made when their module is loaded**, in place of \`once\`, cost the reader 7 % of its first answer by processor time,
and the other functions nothing that can be told apart ([decision 19](decisions/0019-schemas-are-made-late.md)).

**Cost.** API Gateway is two thirds of the price of a read, or of a synchronize that brings nothing new. Functions are less
than a tenth, so a slow function costs its caller time before it costs money. Of an Android notification they are a third:
the function waits for Google. Notifications are 3 % of the month.
`;
