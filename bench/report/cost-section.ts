import type { Results } from "../results.ts";
import { APPLICATION, ASSUMED, monthOf, priceOf, requestsOf, revenue } from "./cost.ts";
import { PRICES } from "./prices.ts";
import { dollars, milliseconds, percent, price, table, whole } from "./markdown.ts";

const MILLION = 1e6;

export const costSection = (results: Results): string => {
  const priced = requestsOf(results).map((request) => priceOf(results, request));
  const month = monthOf(priced);
  const total = month.reduce((sum, line) => sum + line.dollars, 0);
  const onePercent = revenue() / 100;
  return `## Cost

List prices of us-east-1, November 2026, without free tiers: REST API ${price(PRICES.apiRequest * MILLION)} a million
requests; Lambda ${price(PRICES.invocation * MILLION)} a million invocations and $${PRICES.gigabyteSecond.toFixed(10)} a GB-second (arm64);
DynamoDB on demand ${price(PRICES.readUnit * MILLION)} a million read units, ${price(PRICES.writeUnit * MILLION)} a million write units; logs
${price(PRICES.logGigabyte)} a GB; traces ${price(PRICES.trace * MILLION)} a million; transfer ${price(PRICES.transferredGigabyte)} a GB. They are constants of
\`bench/report/cost.ts\`; check them against Amazon's pages.

Units and requests are those counted above. CPU time is that of the functions alone, on this machine. A function
with ${ASSUMED.memoryGigabytes} GB has ${percent(ASSUMED.memoryGigabytes / ASSUMED.gigabytesOfOneProcessor)} of a processor, so it is billed for
\`CPU time × ${(ASSUMED.gigabytesOfOneProcessor / ASSUMED.memoryGigabytes).toFixed(2)} + requests to DynamoDB × ${ASSUMED.roundTripMilliseconds} ms + requests to Google × ${ASSUMED.storeMilliseconds} ms\`, rounded up. Assumptions:
${percent(ASSUMED.authorizedAnew)} of the requests with a key run the authorizer, a request logs ${whole(ASSUMED.logBytes)} bytes and answers ${whole(ASSUMED.answerBytes)}, and ${percent(ASSUMED.tracedPart)}
of the requests are traced. Cold starts are not included.

### Cost of a million requests

${table(
  [
    "request",
    "read units",
    "write units",
    "DynamoDB requests",
    "billed, ms",
    "API",
    "functions",
    "DynamoDB",
    "logs",
    "total",
  ],
  priced.map((request) => [
    request.name,
    request.readUnits,
    request.writeUnits,
    request.roundTrips,
    milliseconds(request.billedMilliseconds),
    dollars(request.perMillion.api),
    dollars(request.perMillion.functions),
    dollars(request.perMillion.dynamoDb),
    dollars(request.perMillion.logs),
    dollars(request.perMillion.total),
  ]),
)}

### A month of ${whole(APPLICATION.subscribers)} subscribers

Each subscriber pays $${APPLICATION.price} a month and opens the app ${APPLICATION.synchronizesOfOne} times. Each start synchronizes; ${APPLICATION.newPurchasesOfOne} of them brings something new.
The backend reads each account ${APPLICATION.readsOfOne} times. ${percent(APPLICATION.newPart)} of the subscribers are new: the backend links each of them twice.
The stores send ${APPLICATION.notificationsOfOne} notifications for each: its renewal, and on the high side as many again for what happens now and then (a failed
charge, a cancellation, an end, a refund). Half of the subscribers bought on iOS.

${table(
  ["item", "amount", "dollars"],
  [
    ...month.map(({ what, amount, dollars: value }) => [what, amount, dollars(value)]),
    ["**total**", "", `**${dollars(total)}**`],
    ["1 % of the revenue, for comparison", "", dollars(onePercent)],
  ],
)}

The month costs ${((100 * total) / revenue()).toFixed(3)} % of the revenue of ${dollars(revenue())}; 1 % of it is ${(onePercent / total).toFixed(0)} times as much.`;
};
