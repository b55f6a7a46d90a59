/** What was concluded from the measurements, by hand, with the figures of the day: they are not measured again. */
export const FINDINGS = `## What the measurements said, and what was done

Figures of 21 and 22 November 2026, on two processors. Where two states of the code are compared, one was measured after the
other on the same machine; its speed changes by up to a half from one hour to another, so that only ratios of one run compare.

**Verification.** At first one JWS took 500 µs one at a time and 195 in a request of 100, where the signature alone takes
130 to 145. What was taken out, one after the other:

| with, one after the other                                                                 | one at a time, µs | request of 100, µs |
| ----------------------------------------------------------------------------------------- | ----------------: | -----------------: |
| as it was: \`jose\` for each JWS, its header read twice, once by \`jose\`                  |               500 |                195 |
| a known header found as it is written; one JWS alone is checked in the function's thread  |               177 |                138 |
| the signature given to OpenSSL in DER, with a bare key                                    |               137 |                 80 |
| \`jose\` alone, key imported                                                             |               345 |                134 |
| Apple's library, offline                                                                  |             2,400 |              2,400 |

What must stay true is in [decision 11](decisions/0011-a-known-header-costs-one-check.md). A chain that is seen first took
2.4 times the processor time that Apple's library takes for each transaction, and takes 1.4 times that since its extensions are
read by sixty lines of our own. It is seen once in the life of a function's environment.

**Cold start.** Loads, to the document client's, before and after (first answers in brackets):

| function                        |        before |         after |
| ------------------------------- | ------------: | ------------: |
| authorize-credential            | 1.54 × (1.33) | 0.77 × (0.76) |
| read-account-entitlements       | 1.59 × (1.57) | 0.79 × (0.87) |
| synchronize-ios-store-purchases | 1.77 × (2.07) | 0.86 × (1.21) |
| link-ios-store-customer         | 1.78 × (1.99) | 0.88 × (1.17) |
| link-android-store-customer     | 2.49 × (2.62) | 1.28 × (1.83) |

What was taken out, by what it took of a load or a first answer: the SDK's \`import()\` of \`node:http\`, which brings Node's
\`fetch\`, and modules wrapped in functions to be loaded later, 16 to 18 % of an iOS function's first answer, 20 of the reader's
and 12 of the Android one's; certificates by a library for all of ASN.1, 20 ms and more; credentials from anywhere but the
environment, 14 ms; schemas made before they are needed, 13; \`zod\` for \`zod/mini\`, 11; parsers that are compiled, 8; names
that are kept, 5 to 10; the look for the AWS SDK's files, 5; kinds of schema that are used once, and items that a function
has no use for, 2 to 6 %. Of the Android function's load a sixth is what Google's client brings beside itself
([decision 12](decisions/0012-what-a-function-loads.md)).

Most of that is the document client's own: bundled as the functions are, it takes 0.61 of what it takes as it is, and to that
an iOS function's first answer is twice as long. What is left between an iOS function and the same requests, signatures and libraries by hand is, by profiles, the service's
own code, read and compiled by V8 when it is first called, then \`zod\`, then the structured log and the metrics (Powertools,
4 % of a first answer: measured by taking them out), and larger answers of DynamoDB. Tried and left, as it was less than what
one run differs from the next: looking the application up while signatures are verified, making the next answer's schemas while
a request is on its way, reading bundle and application with one kind of request, not verifying the pinned root's own signature.
Whoever cannot wait for a start at all has \`provisionedConcurrency\`.

**Storing and reading.** Requests are as few as the design says, and grow with new purchases only. The service's own part
is largest in the replay of 1,000 purchases. It was 21 % of the whole when verification took a third of its time. Comparing
purchases by their fields and not as JSON texts, writing each reference once and not in every comparison of a sort, and
joining nothing where one line is said once, made it 13 to 15 %. What is left is parsing a thousand items, joining them, and
the answer. What is owned for ever is written
whole in two items with each new purchase: an account with 1,000 such products pays 412 write units for the next one,
where one with a subscription pays 8. Nobody has 1,000 of them; with ten it is 12.

**Cost.** API Gateway is two thirds of the price of a read or of a synchronize that brings nothing new. Functions are less
than a tenth, so a slow function costs its caller's time before it costs money.
`;
