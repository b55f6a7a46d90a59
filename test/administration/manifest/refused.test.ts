import {
  CERTIFICATE,
  messages,
  problems,
  SERVER_API,
  withAndroidStore,
  withIosStore,
  withProducts,
} from "./reading.ts";

const ANDROID = "store: android-store, grants: [premium]";
const IOS = "store: ios-store, grants: [premium]";
const SECRET = "credential: { secret: s }";
const APPLE = "appAppleIdentifier: 1";
const pushed = (notifications: string) => withAndroidStore(`${SECRET}, notifications: ${notifications}`);

describe("a manifest is refused, with the line of the problem:", () => {
  test.each([
    ["empty", "", "1 "],
    ["not YAML", "application: { name: A", "1 "],
    ["a key twice", "application: { name: A }\napplication: { name: B }", "2 "],
    ["an alias", "application: &a { name: A }\nstores: *a", "2 "],
    ["a key that is not text", "application: { name: A }\n[a]: 1", "2 "],
    ["a prototype", "application: { name: A }\nentitlements:\n  __proto__: {}", "3 "],
    ["no application", "products: []", "1 application"],
    ["no name", "application: {}", "1 application.name"],
    ["an empty name", 'application: { name: "" }', "1 application.name"],
    ["a number as a name", "application: { name: 12 }", "1 application.name"],
    ["a name that is too long", `application: { name: ${"x".repeat(257)} }`, "1 application.name"],
    ["a control character", 'application: { name: "a\\tb" }', "1 application.name"],
    ["no UUID", "application: { name: A, identifier: trails }", "1 application.identifier"],
    ["an unknown policy", "application: { name: A, transfers: never }", "1 application.transfers"],
    ["an unknown key", "application: { name: A }\nproduct: []", "2 product"],
    ["an unknown store", "application: { name: A }\nstores:\n  web-store: []", "3 stores.web-store"],
    ["null for a list", "application: { name: A }\nproducts:", "2 products"],
    [
      "an unknown key of an entitlement",
      "application: { name: A }\nentitlements:\n  premium: { name: P }",
      "3 entitlements.premium.name",
    ],
    ...["P1DT1S", "P1M", "15M"].map((leeway) => [
      `a leeway of ${leeway}`,
      `application: { name: A, renewalLeeway: "${leeway}" }`,
      "1 application.renewalLeeway",
    ]),
  ])("%s", (_, text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  test.each([
    ["production without the Apple ID", "environments: [production]", "appAppleIdentifier"],
    ["an Apple ID as text", 'appAppleIdentifier: "1"', "appAppleIdentifier"],
    ["an unknown environment", `${APPLE}, environments: [staging]`, "environments[0]"],
    ["xcode without a certificate", `${APPLE}, environments: [xcode]`, "xcodeCertificates"],
    [
      "a short certificate",
      `${APPLE}, environments: [xcode], xcodeCertificates: [ab]`,
      "xcodeCertificates[0]",
    ],
    [
      "a key where only xcode is accepted",
      `environments: [xcode], xcodeCertificates: ["${CERTIFICATE}"], serverApi: ${SERVER_API}`,
      "serverApi",
    ],
    ["forwarded notifications without a key", `${APPLE}, notifications: { forwardedBy: true }`, "serverApi"],
    [
      "a key without its issuer",
      `${APPLE}, serverApi: { keyIdentifier: K, secret: s }`,
      "serverApi.issuerIdentifier",
    ],
    ...[
      ["issuerIdentifier", "57246542-", ""],
      ["keyIdentifier", "2X9R4HXF34", "AuthKey_2X9R4HXF34.p8"],
      ["keyIdentifier", "2X9R4HXF34", "1234567890"],
      ["secret", "trails/app-store-key", '"a b"'],
      ["bundle", " }", ", bundle: a }"],
    ].map(([field, from = "", to = ""]) => [
      `${field} with ${to} for ${from}`,
      `${APPLE}, serverApi: ${SERVER_API.replace(from, to)}`,
      `serverApi.${field}`,
    ]),
    ...["{}", "https://a.example", "{ forwardedBy: true, forwardTo: https://a.example }"].map(
      (notifications) => [
        `notifications ${notifications}`,
        `${APPLE}, serverApi: ${SERVER_API}, notifications: ${notifications}`,
        "notifications",
      ],
    ),
    ...["http://a.example", "https://127.0.0.1/apple", "https://user@a.example", "apple"].map((url) => [
      `forwarding to ${url}`,
      `${APPLE}, notifications: { forwardTo: "${url}" }`,
      "notifications.forwardTo",
    ]),
  ])("in a bundle, %s", (_, store = "", field) => {
    expect(problems(withIosStore(store))).toEqual([`4 stores.ios-store[0].${field}`]);
  });

  test.each([
    ["no credential", "environments: [sandbox]", "credential"],
    ["an empty credential", "credential: {}", "credential"],
    ["a secret's name with a space", 'credential: { secret: "a b" }', "credential.secret"],
    ["xcode", `${SECRET}, environments: [xcode]`, "environments[0]"],
  ])("in a package, %s", (_, store, field) => {
    expect(problems(withAndroidStore(store))).toEqual([`4 stores.android-store[0].${field}`]);
  });

  test.each([
    ["{ serviceAccount: a@b.c }", "audience"],
    ["{ audience: a }", "serviceAccount"],
    ["{ serviceAccount: push, audience: a }", "serviceAccount"],
    [`{ serviceAccount: a@b.c, audience: ${"a".repeat(513)} }`, "audience"],
  ])("in a push subscription, %s", (notifications, field) => {
    expect(problems(pushed(notifications))).toEqual([`4 stores.android-store[0].notifications.${field}`]);
  });

  test.each([
    ["an unknown store", "store: ios, grants: [premium]", "store"],
    ["no grant", "store: ios-store, grants: []", "grants"],
    ["a grant twice", "store: ios-store, grants: [premium, premium]", "grants"],
    ["an unknown entitlement", "store: ios-store, grants: [premium, gold]", "grants[1]"],
    ["a base plan of iOS", `${IOS}, basePlanIdentifier: m`, "basePlanIdentifier"],
    ["a purchase option of iOS", `${IOS}, purchaseOptionIdentifier: rent`, "purchaseOptionIdentifier"],
    ["a duration in words", `${IOS}, accessDuration: 1 day`, "accessDuration"],
    [
      "a base plan with an option",
      `${ANDROID}, basePlanIdentifier: m, purchaseOptionIdentifier: r`,
      "purchaseOptionIdentifier",
    ],
    ["a base plan's duration", `${ANDROID}, basePlanIdentifier: m, accessDuration: P1D`, "accessDuration"],
  ])("in a product, %s", (_, product, field) => {
    expect(problems(withProducts(product))).toEqual([`5 products[0].${field}`]);
  });

  test.each([
    ["a product", withProducts(IOS, IOS), "6 products[1]"],
    [
      "a base plan",
      withProducts(`${ANDROID}, basePlanIdentifier: m`, `${ANDROID}, basePlanIdentifier: m`),
      "6 products[1]",
    ],
    [
      "a package",
      withAndroidStore(`${SECRET} }\n    - { packageName: a.b, ${SECRET}`),
      "5 stores.android-store[1]",
    ],
  ])("twice %s", (_, text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  test("with all of its problems at once", () => {
    const text = `application: { nmae: A }
stores:
  ios-store:
    - { bundleIdentifier: "a#b", extra: 1 }
    - { bundleIdentifier: a.b, appAppleIdentifier: 1 }
    - { bundleIdentifier: a.b, appAppleIdentifier: 1 }
products:
  - { store: ios-store, productIdentifier: p, grants: [gold], accessDuration: x }
`;
    expect(problems(text)).toEqual([
      "1 application.name",
      "1 application.nmae",
      "4 stores.ios-store[0].bundleIdentifier",
      "4 stores.ios-store[0].extra",
      "4 stores.ios-store[0].appAppleIdentifier",
      "6 stores.ios-store[2]",
      "8 products[0].accessDuration",
      "8 products[0].grants[0]",
    ]);
  });
});

test.each([
  ["product: []", /line 2: product is not a known field: here can be .*\bstores, .*\bproducts\b/],
  [
    "stores: { web-store: [] }",
    /stores\.web-store is not a known field: here can be ios-store, android-store/,
  ],
])("an unknown field is answered with the known ones: %s", (text, problem) => {
  expect(messages(`application: { name: A }\n${text}\n`)).toMatch(problem);
});

describe("a pasted secret is refused, pointed to Secrets Manager, and not repeated:", () => {
  test.each([
    ["credential: { type: service_account, private_key: TOP }"],
    ["credential: { workloadIdentity: { type: external_account, nested: [{ client_secret: TOP }] } }"],
    [`credential: { secret: '{"private_key":"TOP"}' }`],
    [`credential: "-----BEGIN PRIVATE KEY----- TOP"`],
    [`serverApi: { keyIdentifier: K, secret: "-----BEGIN PRIVATE KEY-----\\nTOP" }`],
    [`serverApi: { keyIdentifier: K, secret: MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkTOP }`],
    [`serverApi: { -----BEGIN PRIVATE KEY----- TOP }`],
    [`serverApi: { keyIdentifier: K, private_key: TOP }`],
  ])("%s", (pasted) => {
    const isApple = pasted.startsWith("serverApi");
    const text = isApple ? withIosStore(`${APPLE}, ${pasted}`) : withAndroidStore(pasted);
    expect(problems(text)).toEqual([
      isApple ? "4 stores.ios-store[0].serverApi" : "4 stores.android-store[0].credential",
    ]);
    expect(messages(text)).toContain("Secrets Manager");
    expect(messages(text)).not.toContain("TOP");
  });
});

test.each(["a: 1 }\nTOP", "}TOP", "a: |TOP\n b", "a: !TOP b", "a: *TOP", 'a: "\n-----BEGIN\nTOP"\nTOP'])(
  "text that the YAML parser does not understand is not repeated: %j",
  (text) => {
    expect(problems(text)).not.toEqual([]);
    expect(messages(text)).not.toContain("TOP");
  },
);
