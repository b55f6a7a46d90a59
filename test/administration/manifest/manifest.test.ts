import { stringify } from "yaml";
import { manifestOf } from "../../../lib/administration/manifest/difference.ts";
import { type Manifest, readManifest } from "../../../lib/administration/manifest/manifest.ts";
import { periodText } from "../../../lib/administration/manifest/manifest-values.ts";
import { parsePeriod } from "../../../lib/entitlements/time.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { aProduct } from "../../../testing/support/stores/purchases.ts";
import {
  CERTIFICATE,
  manifest,
  SERVER_API,
  withAndroidStore,
  withIosStore,
  withProducts,
} from "./reading.ts";

const IDENTIFIER = applicationId("0198c0de-0000-7000-8000-000000000001");

const TRAILS = `
application: { identifier: ${IDENTIFIER}, name: Trail Maps }
stores:
  ios-store:
    - { bundleIdentifier: com.example.trails, appAppleIdentifier: 1234567890, environments: [production, sandbox] }
  android-store:
    - { packageName: com.example.trails, credential: { secret: trails/play } }
entitlements:
  premium: { displayName: Premium }
products:
  - { store: ios-store, productIdentifier: monthly, grants: [premium] }
  - { store: android-store, productIdentifier: premium, basePlanIdentifier: monthly, grants: [premium] }
  - { store: ios-store, productIdentifier: day_pass, grants: [premium], accessDuration: P1D }
`;

const shown = (read: Manifest) => manifestOf({ ...read, identifier: IDENTIFIER });
const iosStore = (store: string) => manifest(withIosStore(store)).iosStore[0];
const androidStore = (store: string) => manifest(withAndroidStore(store)).androidStore[0];

test("a manifest becomes an application, with its defaults", () => {
  const { identifier, name, transfers, renewalLeeway, catalog, ...stores } = manifest(TRAILS);
  expect({ identifier, name, transfers, renewalLeeway }).toEqual({
    identifier: IDENTIFIER,
    name: "Trail Maps",
    transfers: "refuse",
    renewalLeeway: 15 * 60_000,
  });
  expect(stores).toMatchObject({
    iosStore: [
      {
        bundleIdentifier: "com.example.trails",
        appAppleIdentifier: 1_234_567_890,
        environments: ["production", "sandbox"],
        xcodeCertificates: [],
        serverApi: null,
        notifications: null,
      },
    ],
    androidStore: [
      {
        packageName: "com.example.trails",
        credential: { secret: "trails/play" },
        environments: ["production", "sandbox"],
        notifications: null,
      },
    ],
  });
  expect([...catalog.displayNames]).toEqual([["premium", "Premium"]]);
  expect(catalog.products).toEqual([
    aProduct({ productIdentifier: "monthly" }),
    aProduct({ store: "android-store", productIdentifier: "premium", basePlanIdentifier: "monthly" }),
    aProduct({ productIdentifier: "day_pass", accessDuration: parsePeriod("P1D") }),
  ]);
});

const PUSH = "https://api.example.com/v1/notifications/android-store";
test.each([
  ["all that it may name", TRAILS],
  ["its leeway and transfers", "application: { name: A, renewalLeeway: P1D, transfers: when_inactive }"],
  ["the App Store Server API's key", withIosStore(`appAppleIdentifier: 1, serverApi: ${SERVER_API}`)],
  [
    "a bundle that another service forwards",
    withIosStore(`appAppleIdentifier: 1, serverApi: ${SERVER_API}, notifications: { forwardedBy: true }`),
  ],
  [
    "a bundle that is forwarded",
    withIosStore("appAppleIdentifier: 1, notifications: { forwardTo: https://hooks.example.com/apple?id=1 }"),
  ],
  ["Xcode's certificates", withIosStore(`environments: [xcode], xcodeCertificates: ["${CERTIFICATE}"]`)],
  [
    "a push subscription",
    withAndroidStore(
      `credential: { secret: s }, notifications: { serviceAccount: Push@p.example, audience: ${PUSH} }`,
    ),
  ],
  [
    "a rental",
    withProducts(
      "store: android-store, purchaseOptionIdentifier: rent, accessDuration: P2D, grants: [premium]",
    ),
  ],
])("an application is shown as a manifest, which reads the same: %s", (_, text) => {
  const read = manifest(text);
  const { catalog, ...again } = manifest(stringify(shown(read)));
  expect({ ...again, products: catalog.products }).toEqual({
    ...read,
    identifier: IDENTIFIER,
    catalog: undefined,
    products: read.catalog.products,
  });
});

test("what is the default is not shown", () => {
  const { stores, application } = shown(manifest(TRAILS));
  expect(application).toEqual({ identifier: IDENTIFIER, name: "Trail Maps" });
  expect(stores["ios-store"][0]).not.toHaveProperty("serverApi");
  expect(stores["android-store"][0]).not.toHaveProperty("notifications");
});

test("identifiers, service accounts and certificates are compared in lower case", () => {
  expect(manifest(TRAILS.replace("c0de", "C0DE")).identifier).toBe(IDENTIFIER);
  const push = "credential: { secret: s }, notifications: { serviceAccount: P@B.c, audience: a }";
  expect(androidStore(push)?.notifications).toEqual({ serviceAccount: "p@b.c", audience: "a" });
  for (const written of [CERTIFICATE.toUpperCase(), (CERTIFICATE.match(/../g) ?? []).join(":")])
    expect(iosStore(`environments: [sandbox], xcodeCertificates: ["${written}"]`)).toMatchObject({
      environments: ["sandbox"],
      appAppleIdentifier: null,
      xcodeCertificates: [CERTIFICATE],
    });
});

test.each([
  ["PT0S", 0],
  ["P0D", 0],
  ["PT1H30M", 90 * 60_000],
  ["PT24H", 86_400_000],
])("the renewal leeway %s is %i milliseconds", (written, milliseconds) => {
  const read = manifest(`application: { name: A, renewalLeeway: ${written} }`);
  expect([read.renewalLeeway, read.identifier]).toEqual([milliseconds, null]);
});

test("an entitlement without a display name has its identifier", () => {
  const { displayNames } = manifest("application: { name: A }\nentitlements: { gold: {}, silver: }").catalog;
  expect(Object.fromEntries(displayNames)).toEqual({ gold: "gold", silver: "silver" });
});

test("a secret has a name or an ARN", () => {
  for (const secret of [
    "trails/play",
    "arn:aws:secretsmanager:eu-central-1:123456789012:secret:trails/play-AbCdEf",
  ]) {
    expect(androidStore(`credential: { secret: "${secret}" }`)?.credential).toEqual({ secret });
    const serverApi = SERVER_API.replace("trails/app-store-key", secret);
    expect(iosStore(`appAppleIdentifier: 1, serverApi: ${serverApi}`)?.serverApi?.secret).toBe(secret);
  }
});

test("a local run may forward to an address of this machine", () => {
  const text = withIosStore('appAppleIdentifier: 1, notifications: { forwardTo: "http://127.0.0.1:8080/a" }');
  expect(readManifest(text, { allowsDestination: () => true }).outcome).toBe("valid");
});

test("a base plan and the whole subscription are different products", () => {
  const text = withProducts(
    "store: android-store, basePlanIdentifier: m, grants: [premium]",
    "store: android-store, grants: [premium]",
  );
  expect(manifest(text).catalog.products).toHaveLength(2);
});

test.each([
  ["P18M", "P18M"],
  ["P1Y", "P1Y"],
  ["P1W", "P7D"],
  ["PT36H", "P1DT12H"],
  ["P1M2DT3H4M5S", "P1M2DT3H4M5S"],
])("the period %s is normalized to %s", (given, written) => {
  const period = parsePeriod(given);
  expect(period && periodText(period)).toBe(written);
});
