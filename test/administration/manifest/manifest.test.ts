import { stringify } from "yaml";
import { manifestOf } from "../../../lib/administration/manifest/manifest-document.ts";
import { periodText } from "../../../lib/administration/manifest/period-text.ts";
import { problemText, readManifest, type Manifest } from "../../../lib/administration/manifest/manifest.ts";
import { parsePeriod } from "../../../lib/entitlements/time.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { originOf, type TrustsOrigin } from "../../../lib/stores/android-store/workload-identity.ts";

const IDENTIFIER = applicationId("0198c0de-0000-7000-8000-000000000001");
const CERTIFICATE = "ab".repeat(32);

const TRAILS = `
application: { identifier: 0198c0de-0000-7000-8000-000000000001, name: Trail Maps }
stores:
  ios-store:
    - { bundleIdentifier: com.example.trails, appAppleIdentifier: 1234567890, environments: [production, sandbox] }
  android-store:
    - { packageName: com.example.trails, credential: { secret: trails/play } }
entitlements:
  premium: { displayName: Premium }
products:
  - { store: ios-store, productIdentifier: com.example.trails.premium.monthly, grants: [premium] }
  - { store: android-store, productIdentifier: premium, basePlanIdentifier: monthly, grants: [premium] }
  - { store: ios-store, productIdentifier: com.example.trails.day_pass, grants: [premium], accessDuration: P1D }
`;

const manifest = (text: string): Manifest => {
  const reading = readManifest(text);
  if (reading.outcome === "valid") return reading.manifest;
  throw new Error(reading.problems.map(problemText).join("\n"));
};

/** Line and path of each problem. */
const problems = (text: string): string[] => {
  const reading = readManifest(text);
  return reading.outcome === "valid" ? [] : reading.problems.map(({ line, path }) => `${line} ${path}`);
};

const messages = (text: string): string => {
  const reading = readManifest(text);
  return reading.outcome === "valid" ? "" : reading.problems.map(problemText).join("\n");
};

/** A key of App Store Connect, in one line of YAML. Its issuer is no UUID of RFC 9562, as in Apple's own example. */
const SERVER_API =
  "{ secret: trails/app-store-key, keyIdentifier: 2X9R4HXF34, issuerIdentifier: 57246542-96fe-1a63-e053-0824d011072a }";

/** A manifest whose first store, product or entitlement has a line of its own. */
const withIosStore = (store: string) => `application: { name: A }\nstores:\n  ios-store:\n    - ${store}\n`;
const withAndroidStore = (store: string) =>
  `application: { name: A }\nstores:\n  android-store:\n    - ${store}\n`;
const withProduct = (product: string) =>
  `application: { name: A }\nentitlements:\n  premium: {}\nproducts:\n  - ${product}\n`;

/** As gcloud writes one for an AWS provider. */
const anIdentity = () => ({
  type: "external_account",
  audience:
    "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/aws/providers/production",
  subject_token_type: "urn:ietf:params:aws:token-type:aws4_request",
  token_url: "https://sts.googleapis.com/v1/token",
  service_account_impersonation_url:
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/play@trails.iam.gserviceaccount.com:generateAccessToken",
  credential_source: {
    environment_id: "aws1",
    regional_cred_verification_url:
      "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
  },
});

const withIdentity = (workloadIdentity: unknown) =>
  withAndroidStore(`{ packageName: a.b, credential: ${JSON.stringify({ workloadIdentity })} }`);

const appliedIdentity = (workloadIdentity: unknown, trustsOrigin?: TrustsOrigin): unknown => {
  const reading = readManifest(withIdentity(workloadIdentity), trustsOrigin);
  if (reading.outcome === "invalid") throw new Error(reading.problems.map(problemText).join("\n"));
  const credential = reading.manifest.androidStore[0]?.credential;
  return credential !== undefined && "workloadIdentity" in credential && credential.workloadIdentity;
};

describe("a valid manifest", () => {
  test("becomes an application", () => {
    const { identifier, name, iosStore, androidStore, catalog } = manifest(TRAILS);
    expect({ identifier, name, iosStore, androidStore }).toEqual({
      identifier: IDENTIFIER,
      name: "Trail Maps",
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
      {
        store: "ios-store",
        productIdentifier: "com.example.trails.premium.monthly",
        basePlanIdentifier: null,
        purchaseOptionIdentifier: null,
        grants: ["premium"],
        accessDuration: null,
      },
      {
        store: "android-store",
        productIdentifier: "premium",
        basePlanIdentifier: "monthly",
        purchaseOptionIdentifier: null,
        grants: ["premium"],
        accessDuration: null,
      },
      {
        store: "ios-store",
        productIdentifier: "com.example.trails.day_pass",
        basePlanIdentifier: null,
        purchaseOptionIdentifier: null,
        grants: ["premium"],
        accessDuration: parsePeriod("P1D"),
      },
    ]);
  });

  test("may leave out the identifier, which is compared in lower case", () => {
    expect(manifest("application: { name: A }").identifier).toBeNull();
    expect(manifest(TRAILS.replace("c0de", "C0DE")).identifier).toBe(IDENTIFIER);
  });

  test("may name the push subscription of a package's notifications in lower case", () => {
    const text = withAndroidStore(
      "{ packageName: a.b, credential: { secret: s }, notifications: { serviceAccount: Push@p.iam.gserviceaccount.com, audience: https://api.example.com/v1/notifications/android-store } }",
    );
    const { androidStore } = manifest(text);
    expect(androidStore[0]?.notifications).toEqual({
      serviceAccount: "push@p.iam.gserviceaccount.com",
      audience: "https://api.example.com/v1/notifications/android-store",
    });
    const shown = manifestOf({ ...manifest(text), identifier: IDENTIFIER });
    expect(manifest(stringify(shown)).androidStore).toEqual(androidStore);
    expect(
      manifestOf({ ...manifest(TRAILS), identifier: IDENTIFIER }).stores["android-store"][0],
    ).not.toHaveProperty("notifications");
  });

  test.each([
    ["no audience", "{ serviceAccount: a@b.c }", "audience"],
    ["no service account", "{ audience: a }", "serviceAccount"],
    [
      "a service account that is no e-mail address",
      "{ serviceAccount: push, audience: a }",
      "serviceAccount",
    ],
    ["an empty audience", '{ serviceAccount: a@b.c, audience: "" }', "audience"],
    ["an audience of 513 characters", `{ serviceAccount: a@b.c, audience: ${"a".repeat(513)} }`, "audience"],
    ["a control character", '{ serviceAccount: a@b.c, audience: "a\\nb" }', "audience"],
    ["a field that is not known", "{ serviceAccount: a@b.c, audience: a, topic: t }", "topic"],
  ])("notifications with %s are refused", (_, notifications, field) => {
    expect(
      problems(
        withAndroidStore(`{ packageName: a.b, credential: { secret: s }, notifications: ${notifications} }`),
      ),
    ).toEqual([`4 stores.android-store[0].notifications.${field}`]);
  });

  test("an audience may have 512 characters", () => {
    const audience = "a".repeat(512);
    const { androidStore } = manifest(
      withAndroidStore(
        `{ packageName: a.b, credential: { secret: s }, notifications: { serviceAccount: a@b.c, audience: ${audience} } }`,
      ),
    );
    expect(androidStore[0]?.notifications?.audience).toBe(audience);
  });

  test.each([
    [undefined, 15 * 60_000],
    ["PT0S", 0],
    ["P0D", 0],
    ["PT15M", 15 * 60_000],
    ["PT1H30M", 90 * 60_000],
    ["P1D", 86_400_000],
    ["PT24H", 86_400_000],
  ])("has a renewal leeway: %s is %i milliseconds", (written, milliseconds) => {
    const leeway = written === undefined ? "" : `, renewalLeeway: ${written}`;
    const read = manifest(`application: { name: A${leeway} }`);
    expect(read.renewalLeeway).toBe(milliseconds);
    const identified = { ...read, identifier: IDENTIFIER };
    const again = manifest(JSON.stringify(manifestOf(identified)));
    expect(again.renewalLeeway).toBe(milliseconds);
  });

  test.each(["P1DT1S", "P2D", "P1M", "PT", "P", "15M", "-PT1M", "900"])(
    "refuses the renewal leeway %s",
    (written) => {
      expect(problems(`application: { name: A, renewalLeeway: "${written}" }`)).toEqual([
        "1 application.renewalLeeway",
      ]);
    },
  );

  test("refuses transfers by default", () => {
    expect(manifest("application: { name: A }").transfers).toBe("refuse");
    expect(manifest("application: { name: A, transfers: when_inactive }").transfers).toBe("when_inactive");
    expect(problems("application: { name: A, transfers: never }")).toEqual(["1 application.transfers"]);
  });

  test("may map a purchase option by itself, with an access duration", () => {
    const rent = "productIdentifier: film, purchaseOptionIdentifier: rent, accessDuration: P2D";
    const text = withProduct(`{ store: android-store, ${rent}, grants: [premium] }`);
    expect(manifest(text).catalog.products).toMatchObject([
      { purchaseOptionIdentifier: "rent", accessDuration: parsePeriod("P2D") },
    ]);
  });

  test("accepts production and sandbox by default", () => {
    const environments = ["production", "sandbox"];
    expect(
      manifest(withIosStore("{ bundleIdentifier: a.b, appAppleIdentifier: 1 }")).iosStore[0]?.environments,
    ).toEqual(environments);
    expect(
      manifest(withAndroidStore("{ packageName: a.b, credential: { secret: s } }")).androidStore[0]
        ?.environments,
    ).toEqual(environments);
  });

  test("needs no Apple ID when production is not accepted", () => {
    expect(
      manifest(withIosStore("{ bundleIdentifier: a.b, environments: [sandbox] }")).iosStore[0]
        ?.appAppleIdentifier,
    ).toBeNull();
  });

  test("uses an entitlement's identifier as its display name when it has none", () => {
    expect([
      ...manifest("application: { name: A }\nentitlements: { gold: {}, silver: }").catalog.displayNames,
    ]).toEqual([
      ["gold", "gold"],
      ["silver", "silver"],
    ]);
  });

  test("accepts Xcode's certificates without listing the xcode environment", () => {
    expect(
      manifest(
        withIosStore(
          `{ bundleIdentifier: a.b, environments: [sandbox], xcodeCertificates: ["${CERTIFICATE}"] }`,
        ),
      ).iosStore[0],
    ).toMatchObject({ environments: ["sandbox"], xcodeCertificates: [CERTIFICATE] });
  });

  test.each([CERTIFICATE, CERTIFICATE.toUpperCase(), (CERTIFICATE.match(/../g) ?? []).join(":")])(
    "keeps the certificate %s as lower-case hex",
    (certificate) => {
      expect(
        manifest(
          withIosStore(
            `{ bundleIdentifier: a.b, environments: [xcode], xcodeCertificates: ["${certificate}"] }`,
          ),
        ).iosStore[0]?.xcodeCertificates,
      ).toEqual([CERTIFICATE]);
    },
  );

  test("may name the App Store Server API key, which is shown again", () => {
    const text = withIosStore(
      `{ bundleIdentifier: a.b, appAppleIdentifier: 1, environments: [production, xcode], xcodeCertificates: ["${CERTIFICATE}"], serverApi: ${SERVER_API} }`,
    );
    const { iosStore } = manifest(text);
    expect(iosStore[0]?.serverApi).toStrictEqual({
      issuerIdentifier: "57246542-96fe-1a63-e053-0824d011072a",
      keyIdentifier: "2X9R4HXF34",
      secret: "trails/app-store-key",
    });
    const shown = manifestOf({ ...manifest(text), identifier: IDENTIFIER });
    expect(manifest(stringify(shown)).iosStore).toStrictEqual(iosStore);
    expect(
      manifestOf({ ...manifest(TRAILS), identifier: IDENTIFIER }).stores["ios-store"][0],
    ).not.toHaveProperty("serverApi");
  });

  test("may say that another service forwards a bundle's notifications", () => {
    const text = withIosStore(
      `{ bundleIdentifier: a.b, appAppleIdentifier: 1, serverApi: ${SERVER_API}, notifications: { forwardedBy: true } }`,
    );
    const { iosStore } = manifest(text);
    expect(iosStore[0]?.notifications).toStrictEqual({ forwardedBy: true });
    const shown = manifestOf({ ...manifest(text), identifier: IDENTIFIER });
    expect(manifest(stringify(shown)).iosStore).toStrictEqual(iosStore);
    expect(
      manifestOf({ ...manifest(TRAILS), identifier: IDENTIFIER }).stores["ios-store"][0],
    ).not.toHaveProperty("notifications");
  });

  test("may forward a bundle's notifications to another service", () => {
    const text = (url: string) =>
      withIosStore(
        `{ bundleIdentifier: a.b, appAppleIdentifier: 1, notifications: { forwardTo: "${url}" } }`,
      );
    const url = "https://hooks.example.com/v1/incoming-webhooks/apple?id=1";
    expect(manifest(text(url)).iosStore[0]?.notifications).toStrictEqual({ forwardTo: url });
    const local = "http://127.0.0.1:8080/apple";
    expect(readManifest(text(local), undefined, () => true).outcome).toBe("valid");
  });

  test("may name the App Store Server API's secret by its ARN", () => {
    const secret = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:trails/app-store-key-a1B2c3";
    const text = withIosStore(
      `{ bundleIdentifier: a.b, appAppleIdentifier: 1, serverApi: ${SERVER_API.replace("trails/app-store-key", secret)} }`,
    );
    expect(manifest(text).iosStore[0]?.serverApi?.secret).toBe(secret);
  });

  test("keeps what AWS needs of a workload identity, without EC2's metadata addresses", () => {
    const { credential_source, ...identity } = anIdentity();
    expect(
      appliedIdentity({
        ...identity,
        credential_source: {
          ...credential_source,
          url: "http://169.254.169.254/latest/meta-data/iam/security-credentials",
          region_url: "http://169.254.169.254/latest/meta-data/placement/availability-zone",
          imdsv2_session_token_url: "http://169.254.169.254/latest/api/token",
        },
      }),
    ).toStrictEqual({ ...identity, credential_source });
  });

  test.each([
    ["https://sts.europe-west1.rep.googleapis.com/v1/token", undefined],
    ["https://sts.googleapis.com/v1/token", undefined],
    ["http://127.0.0.1:3000/sandbox/token", "http://127.0.0.1:3000/"],
    ["http://[::1]:3000/token", "http://[::1]:3000"],
  ])("accepts the token exchange %s when the store's address is %s", (token_url, address) => {
    const identity = { ...anIdentity(), token_url };
    expect(appliedIdentity(identity, originOf(address))).toStrictEqual(identity);
  });

  test.each([
    "https://sts.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.eu-central-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.us-gov-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
  ])("accepts the signed request %s", (regional_cred_verification_url) => {
    const identity = {
      ...anIdentity(),
      credential_source: { environment_id: "aws1", regional_cred_verification_url },
    };
    expect(appliedIdentity(identity)).toStrictEqual(identity);
  });

  test("accepts a workload identity without impersonation", () => {
    const { service_account_impersonation_url: _, ...identity } = anIdentity();
    expect(appliedIdentity(identity)).toStrictEqual(identity);
  });

  test.each(["trails/play", "arn:aws:secretsmanager:eu-central-1:123456789012:secret:trails/play-AbCdEf"])(
    "accepts the secret name %s",
    (secret) => {
      expect(
        manifest(withAndroidStore(`{ packageName: a.b, credential: { secret: "${secret}" } }`))
          .androidStore[0]?.credential,
      ).toEqual({ secret });
    },
  );

  test("is the form in which an application is shown", () => {
    const read = manifest(TRAILS);
    const shown = stringify(manifestOf({ ...read, identifier: IDENTIFIER }));
    expect(manifestOf({ ...manifest(shown), identifier: IDENTIFIER })).toEqual(
      manifestOf({ ...read, identifier: IDENTIFIER }),
    );
  });
});

test.each([
  ["product: []", "line 2: product is not a known field: here can be .*\\bstores, .*\\bproducts\\b"],
  [
    "stores: { web-store: [] }",
    "line 2: stores.web-store is not a known field: here can be ios-store, android-store$",
  ],
  [
    "products:\n  - { store: ios-store, productIdentifier: a, grants: [a], price: 1 }",
    "line 3: products\\[0\\].price is not a known field: here can be store, productIdentifier, basePlanIdentifier, purchaseOptionIdentifier, grants, accessDuration",
  ],
])("an unknown field is answered with the known ones: %s", (text, problem) => {
  const reading = readManifest(`application: { name: A }\n${text}\n`);
  expect(reading.outcome === "invalid" ? reading.problems.map(problemText) : []).toContainEqual(
    expect.stringMatching(problem),
  );
});

describe("a manifest is refused, with the line of the problem,", () => {
  const ios = "bundleIdentifier: a.b, appAppleIdentifier: 1";
  const android = "packageName: a.b";
  test.each([
    ["where it is empty", "", "1 "],
    ["where it is not YAML", "application: { name: A", "1 "],
    ["where YAML repeats a key", "application: { name: A }\napplication: { name: B }", "2 "],
    ["where it has a second document", "application: { name: A }\n---\nx: 1", "2 "],
    ["where a tag is unknown", "application: !secret { name: A }", "1 "],
    ["where it uses an alias", "application: &a { name: A }\nstores: *a", "2 "],
    ["where a key is not text", "application: { name: A }\n[a]: 1", "2 "],
    ["where a key would be lost", "application: { name: A }\nentitlements:\n  __proto__: {}", "3 "],
    ["where the application is missing", "products: []", "1 application"],
    ["where the name is missing", "application: {}", "1 application.name"],
    ["where the name is empty", 'application: { name: "" }', "1 application.name"],
    ["where the name is a number", "application: { name: 12 }", "1 application.name"],
    ["where the name is too long", `application: { name: ${"x".repeat(257)} }`, "1 application.name"],
    ["where the name has a control character", 'application: { name: "a\\tb" }', "1 application.name"],
    [
      "where the identifier is not a UUID",
      "application: { name: A, identifier: trails }",
      "1 application.identifier",
    ],
    ["where a key is unknown", "application: { name: A }\nproduct: []", "2 product"],
    ["where a nested key is unknown", "application:\n  name: A\n  nmae: B", "3 application.nmae"],
    ["where a store is unknown", "application: { name: A }\nstores:\n  web-store: []", "3 stores.web-store"],
    ["where a list is null", "application: { name: A }\nproducts:", "2 products"],
    [
      "where a bundle is missing",
      withIosStore("{ appAppleIdentifier: 1 }"),
      "4 stores.ios-store[0].bundleIdentifier",
    ],
    [
      "where a bundle has invalid characters",
      withIosStore('{ bundleIdentifier: "a#b", appAppleIdentifier: 1 }'),
      "4 stores.ios-store[0].bundleIdentifier",
    ],
    [
      "where production needs the Apple ID",
      withIosStore("{ bundleIdentifier: a.b }"),
      "4 stores.ios-store[0].appAppleIdentifier",
    ],
    [
      "where the Apple ID is text",
      withIosStore('{ bundleIdentifier: a.b, appAppleIdentifier: "1" }'),
      "4 stores.ios-store[0].appAppleIdentifier",
    ],
    [
      "where the Apple ID is 0",
      withIosStore("{ bundleIdentifier: a.b, appAppleIdentifier: 0 }"),
      "4 stores.ios-store[0].appAppleIdentifier",
    ],
    [
      "where an environment is unknown",
      withIosStore(`{ ${ios}, environments: [staging] }`),
      "4 stores.ios-store[0].environments[0]",
    ],
    [
      "where no environment is accepted",
      withIosStore(`{ ${ios}, environments: [] }`),
      "4 stores.ios-store[0].environments",
    ],
    [
      "where an environment is named twice",
      withIosStore(`{ ${ios}, environments: [sandbox, sandbox] }`),
      "4 stores.ios-store[0].environments",
    ],
    [
      "where xcode has no certificate",
      withIosStore(`{ ${ios}, environments: [xcode] }`),
      "4 stores.ios-store[0].xcodeCertificates",
    ],
    [
      "where a certificate is too short",
      withIosStore(`{ ${ios}, environments: [xcode], xcodeCertificates: [ab] }`),
      "4 stores.ios-store[0].xcodeCertificates[0]",
    ],
    [
      "where only xcode is accepted, and a key would ask the App Store",
      withIosStore(
        `{ ${ios}, environments: [xcode], xcodeCertificates: ["${CERTIFICATE}"], serverApi: ${SERVER_API} }`,
      ),
      "4 stores.ios-store[0].serverApi",
    ],
    [
      "where forwarded notifications have no key of the App Store",
      withIosStore(`{ ${ios}, notifications: { forwardedBy: true } }`),
      "4 stores.ios-store[0].serverApi",
    ],
    ...[
      "{}",
      "https://a.example",
      "{ forwardedBy: false }",
      "{ forwardedBy: true, forwardTo: https://a.example }",
    ].map((notifications) => [
      `where notifications are ${notifications}`,
      withIosStore(`{ ${ios}, serverApi: ${SERVER_API}, notifications: ${notifications} }`),
      `4 stores.ios-store[0].notifications${notifications.includes("false") ? ".forwardedBy" : ""}`,
    ]),
    ...[
      "http://a.example",
      "https://127.0.0.1/apple",
      "https://10.0.0.1",
      "https://localhost",
      "https://user@a.example",
      "apple",
      "",
    ].map((url) => [
      `where notifications are forwarded to "${url}"`,
      withIosStore(`{ ${ios}, notifications: { forwardTo: "${url}" } }`),
      "4 stores.ios-store[0].notifications.forwardTo",
    ]),
    [
      "where the App Store's key is text",
      withIosStore(`{ ${ios}, serverApi: trails/app-store-key }`),
      "4 stores.ios-store[0].serverApi",
    ],
    [
      "where the App Store's key has no issuer",
      withIosStore(`{ ${ios}, serverApi: { keyIdentifier: ABC123DEFG, secret: s } }`),
      "4 stores.ios-store[0].serverApi.issuerIdentifier",
    ],
    [
      "where the issuer of the App Store's key is no UUID",
      withIosStore(`{ ${ios}, serverApi: ${SERVER_API.replace("57246542-", "")} }`),
      "4 stores.ios-store[0].serverApi.issuerIdentifier",
    ],
    [
      "where the identifier of the App Store's key has other characters",
      withIosStore(`{ ${ios}, serverApi: ${SERVER_API.replace("2X9R4HXF34", "AuthKey_2X9R4HXF34.p8")} }`),
      "4 stores.ios-store[0].serverApi.keyIdentifier",
    ],
    [
      "where the identifier of the App Store's key is a number",
      withIosStore(`{ ${ios}, serverApi: ${SERVER_API.replace("2X9R4HXF34", "1234567890")} }`),
      "4 stores.ios-store[0].serverApi.keyIdentifier",
    ],
    [
      "where the secret of the App Store's key has no name",
      withIosStore(`{ ${ios}, serverApi: ${SERVER_API.replace("trails/app-store-key", '"a b"')} }`),
      "4 stores.ios-store[0].serverApi.secret",
    ],
    [
      "where the App Store's key has an unknown field",
      withIosStore(`{ ${ios}, serverApi: ${SERVER_API.replace(" }", ", bundle: a }")} }`),
      "4 stores.ios-store[0].serverApi.bundle",
    ],
    [
      "where a package has no credential",
      withAndroidStore(`{ ${android} }`),
      "4 stores.android-store[0].credential",
    ],
    [
      "where a credential is empty",
      withAndroidStore(`{ ${android}, credential: {} }`),
      "4 stores.android-store[0].credential",
    ],
    [
      "where a credential has both forms",
      withAndroidStore(
        `{ ${android}, credential: { secret: s, workloadIdentity: ${JSON.stringify(anIdentity())} } }`,
      ),
      "4 stores.android-store[0].credential",
    ],
    [
      "where a secret has no name",
      withAndroidStore(`{ ${android}, credential: { secret: "a b" } }`),
      "4 stores.android-store[0].credential.secret",
    ],
    [
      "where a workload identity is of another type",
      withIdentity({ ...anIdentity(), type: "authorized_user" }),
      "4 stores.android-store[0].credential.workloadIdentity.type",
    ],
    [
      "where a workload identity is text",
      withIdentity(JSON.stringify(anIdentity())),
      "4 stores.android-store[0].credential.workloadIdentity",
    ],
    [
      "where a workload identity has a key twice",
      withAndroidStore(
        `{ ${android}, credential: { workloadIdentity: { type: external_account, type: external_account } } }`,
      ),
      "4 ",
    ],
    [
      "where a workload identity would change the prototype of all objects",
      withAndroidStore(`{ ${android}, credential: { workloadIdentity: { __proto__: { token_url: x } } } }`),
      "4 ",
    ],
    [
      "where a package accepts xcode",
      withAndroidStore(`{ ${android}, credential: { secret: s }, environments: [xcode] }`),
      "4 stores.android-store[0].environments[0]",
    ],
    [
      "where an entitlement's key is unknown",
      "application: { name: A }\nentitlements:\n  premium: { name: P }",
      "3 entitlements.premium.name",
    ],
    [
      "where a product's store is unknown",
      withProduct("{ store: ios, productIdentifier: p, grants: [premium] }"),
      "5 products[0].store",
    ],
    [
      "where a product grants nothing",
      withProduct("{ store: ios-store, productIdentifier: p, grants: [] }"),
      "5 products[0].grants",
    ],
    [
      "where a product grants an entitlement twice",
      withProduct("{ store: ios-store, productIdentifier: p, grants: [premium, premium] }"),
      "5 products[0].grants",
    ],
    [
      "where a product grants an undefined entitlement",
      withProduct("{ store: ios-store, productIdentifier: p, grants: [premium, gold] }"),
      "5 products[0].grants[1]",
    ],
    [
      "where an iOS product has a base plan",
      withProduct("{ store: ios-store, productIdentifier: p, basePlanIdentifier: m, grants: [premium] }"),
      "5 products[0].basePlanIdentifier",
    ],
    [
      "where an access duration is invalid",
      withProduct("{ store: ios-store, productIdentifier: p, accessDuration: 1 day, grants: [premium] }"),
      "5 products[0].accessDuration",
    ],
    [
      "where an iOS product has a purchase option",
      withProduct(
        "{ store: ios-store, productIdentifier: p, purchaseOptionIdentifier: rent, grants: [premium] }",
      ),
      "5 products[0].purchaseOptionIdentifier",
    ],
    [
      "where a product has both a purchase option and a base plan",
      withProduct(
        "{ store: android-store, productIdentifier: p, basePlanIdentifier: m, purchaseOptionIdentifier: rent, grants: [premium] }",
      ),
      "5 products[0].purchaseOptionIdentifier",
    ],
    [
      "where a base plan has an access duration",
      withProduct(
        "{ store: android-store, productIdentifier: p, basePlanIdentifier: m, accessDuration: P1D, grants: [premium] }",
      ),
      "5 products[0].accessDuration",
    ],
  ])("%s", (_, text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  test.each([
    ["a bundle", withIosStore(`{ ${ios} }\n    - { ${ios} }`), "5 stores.ios-store[1]"],
    [
      "a package",
      withAndroidStore(
        `{ ${android}, credential: { secret: s } }\n    - { ${android}, credential: { secret: t } }`,
      ),
      "5 stores.android-store[1]",
    ],
    [
      "a product",
      withProduct(
        "{ store: ios-store, productIdentifier: p, grants: [premium] }\n  - { store: ios-store, productIdentifier: p, grants: [premium] }",
      ),
      "6 products[1]",
    ],
    [
      "a product's base plan",
      withProduct(
        "{ store: android-store, productIdentifier: p, basePlanIdentifier: m, grants: [premium] }\n  - { store: android-store, productIdentifier: p, basePlanIdentifier: m, grants: [premium] }",
      ),
      "6 products[1]",
    ],
  ])("where it describes %s twice", (_, text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  test("with all of its problems at once", () => {
    expect(
      problems(`application: { nmae: A }
stores:
  ios-store:
    - { bundleIdentifier: a.b, extra: 1 }
    - { bundleIdentifier: a.b, appAppleIdentifier: 1 }
products:
  - { store: ios-store, productIdentifier: p, grants: [gold], accessDuration: x }
`),
    ).toEqual([
      "1 application.name",
      "1 application.nmae",
      "4 stores.ios-store[0].extra",
      "4 stores.ios-store[0].appAppleIdentifier",
      "5 stores.ios-store[1]",
      "7 products[0].accessDuration",
      "7 products[0].grants[0]",
    ]);
  });

  test.each([
    ["credential: { type: service_account, private_key: TOP }"],
    ["credential: { workloadIdentity: { type: service_account, private_key: TOP } }"],
    ["credential: { workloadIdentity: { type: external_account, nested: [{ client_secret: TOP }] } }"],
    [`credential: { secret: '{"private_key":"TOP"}' }`],
    [`credential: { secret: "-----BEGIN PRIVATE KEY----- TOP" }`],
    [`credential: "-----BEGIN PRIVATE KEY----- TOP"`],
  ])("where a secret is pasted into it, without repeating the secret: %s", (credential) => {
    const text = withAndroidStore(`{ packageName: a.b, ${credential} }`);
    expect(problems(text)).toEqual(["4 stores.android-store[0].credential"]);
    expect(messages(text)).toContain("Secrets Manager");
    expect(messages(text)).not.toContain("TOP");
  });

  test.each([
    [`serverApi: { keyIdentifier: K, secret: "-----BEGIN PRIVATE KEY-----\\nTOP" }`],
    [`serverApi: { keyIdentifier: K, secret: MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkTOP }`],
    [`serverApi: "-----BEGIN PRIVATE KEY----- TOP"`],
    [`serverApi: { -----BEGIN PRIVATE KEY----- TOP }`],
    [`serverApi: { keyIdentifier: K, private_key: TOP }`],
  ])("a pasted App Store key is refused and not repeated: %s", (serverApi) => {
    const text = withIosStore(`{ ${ios}, ${serverApi} }`);
    expect(problems(text)).toEqual(["4 stores.ios-store[0].serverApi"]);
    expect(messages(text)).toContain("Secrets Manager");
    expect(messages(text)).not.toContain("TOP");
  });
});

describe("a workload identity is refused, without repeating any of its values,", () => {
  const problemsOf = (workloadIdentity: unknown, trustsOrigin?: TrustsOrigin): string[] => {
    const reading = readManifest(withIdentity(workloadIdentity), trustsOrigin);
    if (reading.outcome === "valid") return [];
    expect(reading.problems.map(problemText).join("\n")).not.toMatch(/stranger|SECRET/);
    return reading.problems.map(({ path }) =>
      path.replace("stores.android-store[0].credential.workloadIdentity", "").replace(/^\./, ""),
    );
  };

  test.each<[string, unknown]>([
    ["universe_domain", "stranger.example"],
    ["universe_domain", "googleapis.com"],
    ["universeDomain", "stranger.example"],
    ["token_info_url", "https://sts.googleapis.com/v1/introspect"],
    ["workforce_pool_user_project", "SECRET"],
    ["client_id", "SECRET"],
    ["clientSecret", "SECRET"],
    ["quota_project_id", "SECRET"],
    ["cloud_resource_manager_url", "https://stranger.example/"],
    ["service_account_impersonation", { token_lifetime_seconds: 3600 }],
    ["aws_security_credentials_supplier", {}],
    ["scopes", ["https://www.googleapis.com/auth/cloud-platform"]],
    ["credentials", { access_token: "SECRET" }],
    ["transporterOptions", { baseURL: "https://stranger.example" }],
    ["tokenUrl", "https://stranger.example/"],
    ["subjectTokenType", "SECRET"],
    ["serviceAccountImpersonationUrl", "https://stranger.example/"],
    ["credentialSource", { file: "/proc/self/environ" }],
    ["Token_url", "https://sts.googleapis.com/v1/token"],
    ["token_url ", "https://sts.googleapis.com/v1/token"],
    ["constructor", "SECRET"],
    ["hasOwnProperty", "SECRET"],
    ["x", null],
  ])("for the key %s: %j", (key, value) => {
    const path = /^\w+$/.test(key) ? key : `[${JSON.stringify(key)}]`;
    expect(problemsOf({ ...anIdentity(), [key]: value })).toEqual([path]);
  });

  test.each<[string, unknown]>([
    ["file", "/proc/self/environ"],
    ["executable", { command: "/bin/stranger" }],
    ["certificate", { use_default_certificate_config: true }],
    ["headers", { Authorization: "SECRET" }],
    ["format", { type: "json" }],
    ["environmentId", "aws1"],
    ["regionUrl", "https://stranger.example/"],
    ["regionalCredVerificationUrl", "https://stranger.example/"],
    ["imdsv2SessionTokenUrl", "http://169.254.169.254/latest/api/token"],
    ["aws", { url: "https://stranger.example/" }],
    ...["url", "region_url", "imdsv2_session_token_url"].flatMap((key) =>
      [
        "https://169.254.169.254/latest",
        "http://169.254.169.254:8080/latest",
        "http://169.254.169.254@stranger.example/",
        "http://169.254.169.254.stranger.example/",
        "http://169.254.169.254\\@stranger.example/",
        "http://stranger.example/169.254.169.254",
        "http://[fd00:ec2::254]/latest",
        "http://2852039166/latest",
        "//169.254.169.254/latest",
        "file:///proc/self/environ",
        7,
      ].map((value): [string, unknown] => [key, value]),
    ),
  ])("for the key %s of its source: %j", (key, value) => {
    const identity = anIdentity();
    expect(
      problemsOf({ ...identity, credential_source: { ...identity.credential_source, [key]: value } }),
    ).toEqual([`credential_source.${key}`]);
  });

  test.each(["type", "audience", "subject_token_type", "token_url", "credential_source"])(
    "without %s",
    (key) => {
      expect(problemsOf({ ...anIdentity(), [key]: undefined })).toEqual([key]);
      expect(problemsOf({ ...anIdentity(), [key]: null })).toEqual([key]);
      expect(problemsOf({ ...anIdentity(), [key]: [] })).toEqual([key]);
    },
  );

  test("with all of its problems at once", () => {
    expect(
      problemsOf({ type: "external_account", credential_source: { file: "/proc/self/environ" } }),
    ).toEqual([
      "audience",
      "subject_token_type",
      "token_url",
      "credential_source.file",
      "credential_source.environment_id",
      "credential_source.regional_cred_verification_url",
    ]);
  });

  /** Ways to write another host, port, user or path into one of Google's addresses. */
  const elsewhere = (address: string): string[] => {
    const { hostname: host, pathname: path } = new URL(address);
    return [
      `http://${host}${path}`,
      `ftp://${host}${path}`,
      `//${host}${path}`,
      `https:${host}${path}`,
      `https://stranger.example${path}`,
      `https://${host}.stranger.example${path}`,
      `https://stranger-${host}${path}`,
      `https://stranger.${host}${path}`,
      `https://${host}@stranger.example${path}`,
      `https://${host}:443@stranger.example${path}`,
      `https://stranger@${host}${path}`,
      `https://:stranger@${host}${path}`,
      `https://${host}:8443${path}`,
      `https://${host}.${path}`,
      `https://${host.replace("googleapis", "googleapıs")}${path}`,
      `https://${host.replaceAll(".", "。")}${path}`,
      `https://${host.replace("google", "g%6fogle")}${path}`,
      `https://${host.toUpperCase()}${path}`,
      `https://stranger.example\\@${host}${path}`,
      `https://stranger.example/https://${host}${path}`,
      `https://stranger.example?https://${host}${path}`,
      `https://stranger.example#https://${host}${path}`,
      `https://${host}\\@stranger.example${path}`,
      `https://${host}${path}?stranger`,
      `https://${host}${path}#stranger`,
      `https://${host}${path}\nhttps://stranger.example`,
      `https://${host}${path}\n`,
      ` https://${host}${path}`,
      `https://${host}/stranger/..${path}`,
      `https://${host}/stranger`,
      `https:\\\\${host}${path}`,
      "https://www.googleapis.com/v1/token",
      "https://storage.googleapis.com/stranger/v1/token",
      "http://127.0.0.1:3000/token",
      "http://localhost:3000/token",
      "data:application/json,{}",
      "file:///proc/self/environ",
      "",
    ];
  };

  test.each([
    ...elsewhere("https://sts.googleapis.com/v1/token"),
    "https://sts.mtls.googleapis.com/v1/token",
    "https://sts.rep.googleapis.com/v1/token",
    "https://sts.a.b.rep.googleapis.com/v1/token",
    "https://sts.europe-west1.rep.googleapis.com.stranger.example/v1/token",
    "https://sts.stranger.example/x.rep.googleapis.com/v1/token",
    "https://sts.googleapis.com/v1/oauthtoken",
  ])("with the token exchange %j", (token_url) => {
    expect(problemsOf({ ...anIdentity(), token_url })).toEqual(["token_url"]);
  });

  test.each([
    ...elsewhere(anIdentity().service_account_impersonation_url),
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.c:signBlob",
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a:generateAccessToken",
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/../a@b.c:generateAccessToken",
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a%2f@b.c:generateAccessToken",
    `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${"a".repeat(300)}@b.c:generateAccessToken`,
    null,
  ])("with the impersonation %j", (service_account_impersonation_url) => {
    expect(problemsOf({ ...anIdentity(), service_account_impersonation_url })).toEqual([
      "service_account_impersonation_url",
    ]);
  });

  test.each([
    "https://stranger.example?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.{region}.amazonaws.com",
    "https://sts.{region}.amazonaws.com?Action=AssumeRole&Version=2011-06-15",
    "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15&Action=AssumeRole",
    "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15#stranger",
    "https://sts.{region}.amazonaws.com/stranger?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.{region}.amazonaws.com.stranger.example?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.{region}.stranger.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://stranger@sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://iam.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.s3.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.s3-us-west-2.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.cn-north-1.amazonaws.com.cn?Action=GetCallerIdentity&Version=2011-06-15",
    "http://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    "https://sts.{region}.amazonaws.com:8443?Action=GetCallerIdentity&Version=2011-06-15",
  ])("with the request to sign %j", (regional_cred_verification_url) => {
    const identity = anIdentity();
    expect(
      problemsOf({
        ...identity,
        credential_source: { ...identity.credential_source, regional_cred_verification_url },
      }),
    ).toEqual(["credential_source.regional_cred_verification_url"]);
  });

  test.each([
    "//stranger.example/projects/1/locations/global/workloadIdentityPools/a/providers/b",
    "https://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b",
    "//iam.googleapis.com",
    "//iam.googleapis.com/projects/1\r\nx-stranger: 1",
    `//iam.googleapis.com/projects/${"1".repeat(2000)}`,
  ])("with the audience %j", (audience) => {
    expect(problemsOf({ ...anIdentity(), audience })).toEqual(["audience"]);
  });

  test.each([
    ["http://127.0.0.1:3001/token", "http://127.0.0.1:3000"],
    ["https://127.0.0.1:3000/token", "http://127.0.0.1:3000"],
    ["http://localhost:3000/token", "http://127.0.0.1:3000"],
    ["http://127.0.0.1:3000@stranger.example/token", "http://127.0.0.1:3000"],
    ["http://stranger@127.0.0.1:3000/token", "http://127.0.0.1:3000"],
    ["http://stranger.example\\@127.0.0.1:3000/token", "http://127.0.0.1:3000"],
    ["http://127.0.0.1:3000/token?stranger", "http://127.0.0.1:3000"],
    ["http://127.0.0.1:3000/token#stranger", "http://127.0.0.1:3000"],
    ["blob:http://127.0.0.1:3000/token", "http://127.0.0.1:3000"],
    ["data:application/json,{}", "data:,"],
    ["http://127.0.0.1:3000/token", "no address"],
    ["http://127.0.0.1:3000/token", ""],
    ["http://127.0.0.1:3000/token", undefined],
  ])("with the token exchange %s when the store's address is %s", (token_url, address) => {
    expect(problemsOf({ ...anIdentity(), token_url }, originOf(address))).toEqual(["token_url"]);
  });
});

test("a base plan and the whole subscription are different products", () => {
  expect(
    problems(
      withProduct(
        "{ store: android-store, productIdentifier: p, basePlanIdentifier: m, grants: [premium] }\n  - { store: android-store, productIdentifier: p, grants: [premium] }",
      ),
    ),
  ).toEqual([]);
});

test.each([
  ["P1Y", "P1Y"],
  ["P18M", "P18M"],
  ["P1W", "P7D"],
  ["P1D", "P1D"],
  ["PT36H", "P1DT12H"],
  ["P1M2DT3H4M5S", "P1M2DT3H4M5S"],
  ["PT90M", "PT1H30M"],
])("the period %s is normalized to %s", (given, written) => {
  const period = parsePeriod(given);
  expect(period && periodText(period)).toBe(written);
  expect(parsePeriod(written)).toEqual(period);
});

test.each(["a: 1 }\nTOP", "}TOP", "a: |TOP\n b", "a: !TOP b", "a: *TOP", 'a: "\n-----BEGIN\nTOP"\nTOP'])(
  "text that the YAML parser does not understand is not repeated: %j",
  (text) => {
    expect(problems(text)).not.toEqual([]);
    expect(messages(text)).not.toContain("TOP");
  },
);
