/** What was concluded from the measurements, by hand, with the figures of the day: they are not measured again. */
export const FINDINGS = `## What the measurements say

Figures of 21 November 2026, on this machine while it had other work. Processor time was little disturbed by that, so it
is what is compared here; changes were tried on a copy of the sources, old and new in turn in one run.

**Verification.** A warm signature check alone takes 125 to 135 µs; the service took 216 µs for each transaction of a
request of 100, and 362 µs one at a time. The rest is not cryptography:

| with, one after the other                                                              | one at a time, µs | request of 100, µs |
| -------------------------------------------------------------------------------------- | ----------------: | -----------------: |
| as it is                                                                               |               362 |                216 |
| the header of a known chain found by its own text: not decoded, parsed and checked anew |               308 |                194 |
| \`crypto.subtle.verify\` called directly: \`jose\` decodes the header once more             |               272 |                168 |
| duplicate members found by counting, without a set for each object                     |               238 |                156 |
| \`jose\` alone, key imported                                                             |               224 |                153 |
| Apple's library, offline                                                               |             2,432 |              2,500 |

With all three it is 1.0 × \`jose\` alone and 16 × Apple's library in a request of 100. One at a time it is 10 ×: there the
way to another thread and back costs as much as all of the service's own checks, and a check in the function's own thread
takes 194 µs. A chain that is seen first takes 4.7 to 5.6 ms, twice as long as Apple's; without the check of the pinned
root's own signature, which its fingerprint makes needless, 0.9 ms less.

**Cold start.** Of what the reader has more than the document client, two things cost most. The AWS SDK brings six ways to
find credentials (144 KB), where a function has its own in the environment; with that one alone the reader's load takes
94 ms of processor time and not 119, and the document client's 59 and not 71. Compiling parsers of zod at the first
request takes 8 to 13 ms, which \`jitless\` leaves out; names that are kept take about 10. With all three the reader's load
takes 1.19 × and its first answer 1.15 × the document client's, from 1.60 × and 1.58 ×. Making the schemas at all is the
next: a tenth of the process's whole start.

**Storing and reading.** Requests are as few as the design says, and grow with new purchases only. The part of the
service's own is largest in the replay of 1,000 purchases. What is owned for ever is written whole in two items with each
new purchase: an account with 1,000 such products pays 412 write units for the next one, where one with a subscription
pays 8. Nobody has 1,000 of them; with ten it is 12.

**Cost.** API Gateway is two thirds of the price of a read or of a synchronize that brings nothing new. Functions are less
than a tenth, so a slow function costs its caller's time before it costs money.
`;
