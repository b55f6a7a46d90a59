import { CLOCK_PATH } from "./clock/clock-endpoint.ts";
import { DEMO } from "./demo.ts";
import type { LocalService } from "./local-service.ts";
import { EXAMPLE_ACCOUNT as ACCOUNT } from "./pages/live-examples.ts";

const quoted = (body: unknown): string => `'${JSON.stringify(body)}'`;

const JSON_CONTENT = "-H 'Content-Type: application/json'";

const BOUGHT = [
  { productIdentifier: DEMO.iosSubscription, period: "P1M" },
  { productIdentifier: DEMO.iosNonConsumable, type: "Non-Consumable" },
];

/** @param person app transaction identifier that the iOS commands share */
export const greeting = (service: LocalService, person: string): string => {
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

  export ADDRESS=${address}
  export AWS_ENDPOINT_URL_DYNAMODB=${service.dynamoDbEndpoint} TABLE_NAME=${service.tableName}
  export AWS_ENDPOINT_URL_SECRETS_MANAGER=$ADDRESS AWS_ENDPOINT_URL_STS=$ADDRESS

Ctrl-C stops everything.

ready ${address}`;
};
