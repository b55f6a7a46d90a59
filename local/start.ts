import { newIdentifier } from "../sandbox/ios-store/shop/payloads.ts";
import { CLOCK_PATH } from "./clock/timekeeper.ts";
import { DEMO } from "./demo.ts";
import { startLocalService, type LocalService } from "./local-service.ts";
import { readOptions } from "./options.ts";
import { EXAMPLE_ACCOUNT as ACCOUNT } from "./sandbox-stores.ts";
import { LocalError } from "./server.ts";

const quoted = (body: unknown): string => `'${JSON.stringify(body)}'`;

const JSON_CONTENT = "-H 'Content-Type: application/json'";

const BOUGHT = [
  { productIdentifier: DEMO.iosSubscription, period: "P1M" },
  { productIdentifier: DEMO.iosNonConsumable, type: "Non-Consumable" },
];

/**
 * @param person app transaction identifier that the iOS commands share
 * @param destinations what the command line has to allow too
 */
const greeting = (service: LocalService, person: string, destinations: string | undefined): string => {
  const { address, demo, androidPurchaseToken: purchaseToken } = service;
  const customers = `curl -s ${address}/v1/customers`;
  const authorization = `-H 'Authorization: Bearer ${demo.apiKey}'`;
  const iosPurchases = (bought: object): string =>
    `curl -s ${address}/sandbox/ios-store/purchases -d ${quoted({ appTransactionIdentifier: person, ...bought })}`;
  const androidLink = quoted({
    packageName: DEMO.packageName,
    purchaseToken,
    productKind: "subscription",
    applicationAccountIdentifier: ACCOUNT,
  });
  const onAndroid = `Link an Android purchase (made in the sandbox store when the service started):

  ${customers}/android-store/link ${authorization} ${JSON_CONTENT} -d ${androidLink}

`;
  return `
Address      ${address}
Reference    ${address}/docs
Console      ${address}/console
Table        ${service.tableName} at ${service.dynamoDbEndpoint}
Application  ${DEMO.applicationIdentifier} (${DEMO.name}, ${DEMO.bundleIdentifier})
API key      ${demo.apiKey}

${purchaseToken === null ? "" : onAndroid}Buy in the sandbox iOS store and synchronize, as the app does:

  ${iosPurchases({ transactions: BOUGHT })} | ${customers}/ios-store/synchronize ${JSON_CONTENT} -d @-

Link the same iOS customer, as the backend does:

  ${iosPurchases({ applicationAccountIdentifier: ACCOUNT })} | ${customers}/ios-store/link ${authorization} ${JSON_CONTENT} -d @-

Read the account:

  ${customers}/${ACCOUNT}/entitlements ${authorization}

Move the clock of the service and of both stores a month ahead (and back to now, with everything forgotten: reset):

  curl -s ${address}${CLOCK_PATH} -d ${quoted({ advance: "P1M" })}
  curl -s ${address}${CLOCK_PATH} -d ${quoted({ reset: true })}

For the operator's command line, npx --no customer-entitlements, in another terminal of this folder:

  export ADDRESS=${address}${destinations === undefined ? "" : ` DESTINATIONS=${destinations}`}
  export AWS_ENDPOINT_URL_DYNAMODB=${service.dynamoDbEndpoint} TABLE_NAME=${service.tableName}
  export AWS_ENDPOINT_URL_SECRETS_MANAGER=$ADDRESS AWS_ENDPOINT_URL_STS=$ADDRESS

Ctrl-C stops everything.

ready ${address}`;
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

const starting = new AbortController();
let service: LocalService | null = null;

const stop = async (exitCode: number): Promise<void> => {
  // A second signal exits at once.
  if (starting.signal.aborted) process.exit(exitCode);
  starting.abort();
  await service?.stop();
  if (service) process.exit(exitCode);
};

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop(0));

try {
  const options = readOptions(process.argv.slice(2), process.env);
  say("Starting: DynamoDB Local, the functions' bundles, the sandbox stores …");
  const { signal } = starting;
  service = await startLocalService({ ...options, log: complain, onRequest: say, tell: say, signal });
  say(greeting(service, newIdentifier("Sandbox"), options.destinations));
  await service.broken;
  if (!starting.signal.aborted) {
    complain("DynamoDB Local has ended, so the service stops; start it again.");
    await stop(1);
  }
} catch (error) {
  if (starting.signal.aborted) process.exit(0);
  complain(
    error instanceof LocalError ? error.message : String(error instanceof Error ? error.stack : error),
  );
  process.exit(1);
}
