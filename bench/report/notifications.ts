import type { NotificationsResult } from "../sections/notifications.ts";
import { milliseconds, requests, table, whole } from "./markdown.ts";

export const notificationsSection = ({
  rows,
  shown,
}: NotificationsResult): string => `## A store's notification

Of a linked subscription that renewed: the use case on DynamoDB Local, in one warm process, with the application in memory.
Each notification is of another customer, and is sent twice. The Publisher API and Google's keys are on this machine.

- "Signature checks" are those of the App Store's payloads (notification, transaction, renewal info), or of the push's token.
- "Store" is the time of the request for the purchase, whatever it takes in production.
- The time of the last notification is one more write, at most once in five minutes. It is not in these figures.

${table(
  [
    "store",
    "state",
    "signature checks",
    "requests to the store",
    "requests",
    "read units",
    "write units",
    "total, ms",
    "verification",
    "store",
    "DynamoDB",
    "rest",
  ],
  rows.map((row) => [
    row.store,
    row.state,
    row.signatureChecks,
    row.storeRequests,
    requests(row.requests),
    whole(row.readUnits),
    whole(row.writeUnits),
    milliseconds(row.milliseconds.total),
    milliseconds(row.milliseconds.verification),
    milliseconds(row.milliseconds.store),
    milliseconds(row.milliseconds.dynamoDb),
    milliseconds(row.milliseconds.rest),
  ]),
)}

### From the store to the read

The whole service on the local gateway, in its own process, with both sandbox stores. A purchase changes in the sandbox
store, which signs its notification, pushes it and answers once the service has answered; then one read of the account must
show the new end. The time is that of all this, one change after another: an extended period on iOS, a renewal on Android.

${table(
  ["store", "changes", "median, ms", "99th percentile, ms"],
  shown.map((row) => [row.store, whole(row.changes), milliseconds(row.p50), milliseconds(row.p99)]),
)}`;
