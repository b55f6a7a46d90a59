import { readFileSync } from "node:fs";
import { endpoints, type EndpointName } from "../../lib/contract/endpoints.ts";
import {
  ParameterError,
  parameterNames,
  parameterRows,
  readParameters,
  readStages,
} from "../../infra/read-parameters.ts";

/** Context values that the CDK adds itself. */
const OF_THE_CDK = {
  "@aws-cdk/core:explicitStackTags": true,
  "aws:cdk:bundling-stacks": ["**"],
  "availability-zones:account=123456789012:region=us-east-1": ["us-east-1a"],
};

const problemsOf = (values: Record<string, unknown>): string[] => {
  try {
    readParameters(values);
    return [];
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    return error.message.split("\n- ").slice(1);
  }
};

/** The text, escaped for a regular expression. */
const literally = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

test("without parameters, the stage is production: kept, protected, recoverable, capped", () => {
  const parameters = readParameters(OF_THE_CDK);
  expect(parameters).toMatchObject({
    stage: "production",
    serviceName: "customer-entitlements",
    secretPrefix: "customer-entitlements/",
    tableName: "customer-entitlements",
    removal: "retain",
    deletionProtection: true,
    pointInTimeRecovery: true,
    maxReadCapacity: 4000,
    maxWriteCapacity: 4000,
    requestsPerAddress: 10_000,
    synchronizesPerAddress: 300,
    iosNotificationsFromAppleOnly: true,
    hasAlarms: true,
    domain: null,
  });
  for (const { reservedConcurrency, provisionedConcurrency } of Object.values(parameters.functions))
    expect([reservedConcurrency, provisionedConcurrency]).toEqual([null, null]);
});

/** A stage that can be destroyed, and costs only a secret a month. */
const DISPOSABLE = {
  removal: "destroy",
  deletionProtection: false,
  pointInTimeRecovery: false,
  requestsPerAddress: null,
  synchronizesPerAddress: null,
  iosNotificationsFromAppleOnly: false,
  hasAlarms: false,
  dashboard: false,
};
const KEPT = { tableName: "customer-entitlements-staging", removal: "retain", deletionProtection: true };
const DEVELOPMENT = { stage: "development" };

test.each<[rule: string, given: Record<string, string>, parameters: object]>([
  ["development can be thrown away", DEVELOPMENT, DISPOSABLE],
  ["an e-mail address has alarms", { ...DEVELOPMENT, alarmEmail: "a@example.com" }, { hasAlarms: true }],
  [
    "a topic has alarms",
    { ...DEVELOPMENT, alarmTopicArn: "arn:aws:sns:eu-west-1:123456789012:a" },
    { hasAlarms: true },
  ],
  ["any other stage has production's presets", { stage: "staging" }, KEPT],
  ["unless it says otherwise", { stage: "pr-7", presets: "development" }, DISPOSABLE],
  [
    "a value wins over presets",
    { stage: "pr-7", presets: "development", deletionProtection: "true" },
    { ...DISPOSABLE, deletionProtection: true },
  ],
])("%s: %j", (_, given, parameters) => {
  expect(readParameters(given)).toMatchObject(parameters);
});

test("stages share no table and no secret", () => {
  const [production, other] = [readParameters({}), readParameters({ stage: "other" })];
  expect(other.tableName).not.toBe(production.tableName);
  expect(other.secretPrefix.startsWith(production.secretPrefix)).toBe(false);
  expect(production.secretPrefix.startsWith(other.secretPrefix)).toBe(false);
});

test.each([
  ["maxReadCapacity", "none", null],
  ["maxReadCapacity", "250", 250],
  ["maxReadCapacity", 250, 250],
  ["pointInTimeRecovery", "false", false],
  ["pointInTimeRecovery", false, false],
  ["synchronizesPerAddress", "none", null],
] as const)("%s is text from the command line or cdk.json: %j", (name, given, value) => {
  expect(readParameters({ [name]: given })[name]).toBe(value);
});

test.each([
  ["stage", "Production"],
  ["presets", "staging"],
  ["tableName", "a/b"],
  ["version", "a version"],
  ["eventBuses", "arn:aws:events:eu-west-1:123456789012:event-bus/a,b"],
  ["tableKeyArn", "alias/of-the-table"],
  ["pointInTimeRecovery", "1"],
  ["maxReadCapacity", "0"],
  ["maxWriteCapacity", "1.5"],
  ["logRetentionDays", "31"],
  ["tracedPercent", "101"],
  ["secretPrefix", "*"],
  // Without the slash it begins the name of the master secret, and of another stage's secrets.
  ["secretPrefix", "customer-entitlements"],
  ["requestsPerAddress", "9"],
  ["backendAddresses", "backend.example.com"],
  ["alarmEmail", "nobody"],
  ["alarmTopicArn", "arn:aws:sns:somewhere"],
  ["certificateArn", "arn:aws:iam::123456789012:server-certificate/x"],
  ["domainName", "https://api.example.com"],
  ["hostedZoneId", "zone"],
  ["blockedAddresses", "198.51.100.7/33"],
  ["blockedAddresses", ["2001:db8::/129"]],
  ["readAccountEntitlements.memory", "64"],
  ["readAccountEntitlements.timeout", "29"],
  ["linkIosStoreCustomer.rate", "-1"],
  ["authorizeCredential.reservedConcurrency", "0"],
])("%s cannot be %j, and the error says so", (name, value) => {
  expect(problemsOf({ [name]: value })).toContainEqual(
    expect.stringMatching(
      new RegExp(`^${literally(name)} must be .+; it is ${literally(JSON.stringify(value))}\\.$`),
    ),
  );
});

describe("functions that anybody can flood", () => {
  const OPEN = (Object.keys(endpoints) as EndpointName[]).filter((name) => endpoints[name].scope === null);
  const FLOODED = ["authorizeCredential", ...OPEN] as const;
  const REQUEST_SECONDS = 0.03;
  const limitsOf = (parameters: ReturnType<typeof readParameters>) =>
    OPEN.map((name) => parameters.throttling[name]);

  test("reserve nothing of a new account's ten executions", () => {
    for (const accountConcurrency of ["none", 10, 199]) {
      const parameters = readParameters({ accountConcurrency });
      const lasting = limitsOf(parameters).reduce((sum, { rate }) => sum + rate * REQUEST_SECONDS, 0);
      const atOnce = limitsOf(parameters).reduce((sum, { burst }) => sum + burst, lasting);
      expect(lasting).toBeLessThan(2);
      expect(atOnce).toBeLessThan(9);
      for (const { reservedConcurrency } of Object.values(parameters.functions))
        expect(reservedConcurrency).toBeNull();
      // One address has a tenth of each of these rates at most.
      for (const { rate } of limitsOf(parameters))
        expect(parameters.synchronizesPerAddress).toBeLessThanOrEqual(rate * 300 * 0.1);
    }
  });

  test.each([
    [200, 40, 20],
    [1000, 200, 100],
  ])("have at most half of a concurrency of %i, at usual rates", (accountConcurrency, synchronize, other) => {
    const { functions, throttling, synchronizesPerAddress } = readParameters({ accountConcurrency });
    expect(functions.synchronizeIosStorePurchases.reservedConcurrency).toBe(synchronize);
    expect(functions.receiveIosStoreNotification.reservedConcurrency).toBe(other);
    expect(functions.receiveAndroidStoreNotification.reservedConcurrency).toBe(other);
    expect(functions.authorizeCredential.reservedConcurrency).toBe(other);
    const reserved = FLOODED.map((name) => functions[name].reservedConcurrency ?? 0);
    expect(reserved.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(accountConcurrency / 2);
    expect(throttling.synchronizeIosStorePurchases).toEqual({ rate: 200, burst: 400 });
    expect(synchronizesPerAddress).toBe(1000);
    const others = Object.entries(functions).filter(([name]) => !FLOODED.some((open) => open === name));
    for (const [, { reservedConcurrency }] of others) expect(reservedConcurrency).toBeNull();
  });

  test("of a stage that can be thrown away reserve nothing", () => {
    const { functions } = readParameters({ stage: "development", accountConcurrency: 1000 });
    expect(FLOODED.map((name) => functions[name].reservedConcurrency)).toEqual(FLOODED.map(() => null));
  });

  test("and reservations that Lambda would refuse stop the deployment before it begins", () => {
    const reserved = { accountConcurrency: 1000, "readAccountEntitlements.reservedConcurrency": 401 };
    expect(problemsOf(reserved)).toEqual([
      "Reserved concurrency is 901, but Lambda must keep 100 of 1000 unreserved. Lower a reservedConcurrency.",
    ]);
    expect(problemsOf({ ...reserved, "readAccountEntitlements.reservedConcurrency": 400 })).toEqual([]);
  });
});

test("blocked addresses are a text or a list, once each", () => {
  const blocked = ["198.51.100.7/32", "2001:db8::1/128", "203.0.113.0/24"];
  for (const blockedAddresses of [
    "203.0.113.0/24,198.51.100.7 2001:db8::1",
    ["203.0.113.0/24", "198.51.100.7/32", "198.51.100.7", "2001:db8::1"],
  ])
    expect(readParameters({ blockedAddresses }).blockedAddresses).toEqual(blocked);
});

test.each<[rule: string, given: Record<string, unknown>, problems: readonly string[]]>([
  ["logs of addresses", { ...DEVELOPMENT, addressLimitLogs: true }, ["addressLimitLogs needs"]],
  [
    "logs of addresses that are refused",
    { ...DEVELOPMENT, addressLimitLogs: true, blockedAddresses: "198.51.100.7" },
    [],
  ],
  [
    "several at once",
    { stage: "A", waff: "true", "tellChanges.rate": "512", domainName: "a.example" },
    [
      "stage must be ",
      "domainName and certificateArn belong together.",
      "There is no parameter waff: docs/deploy.md lists them.",
      "There is no parameter tellChanges.rate: docs/deploy.md lists them.",
    ],
  ],
  [
    "two that exclude each other",
    { alarmEmail: "a@example.com", alarmTopicArn: "arn:aws:sns:eu-west-1:123456789012:a" },
    ["alarmEmail and alarmTopicArn exclude each other"],
  ],
])("every problem of parameters that do not fit is reported: %s", (_, given, problems) => {
  expect(problemsOf(given)).toEqual(problems.map((problem) => expect.stringContaining(problem)));
});

describe("a stage's entry in stages.json", () => {
  const stages = readStages(
    JSON.stringify({
      production: { tableName: "restored", "linkIosStoreCustomer.rate": 80 },
      development: { tracedPercent: 10 },
    }),
  );
  test("applies to that stage only; without a name, to production", () => {
    expect(readParameters({}, stages)).toMatchObject({
      tableName: "restored",
      throttling: { linkIosStoreCustomer: { rate: 80 } },
      tracedPercent: 5,
    });
    expect(readParameters({ stage: "development" }, stages)).toMatchObject({
      tableName: "customer-entitlements-development",
      tracedPercent: 10,
    });
  });
  test.each(["constructor", "prodction"])(
    "stops a stage that it lacks, %s; an empty one is fine",
    (stage) => {
      const problem = `stages.json has no entry for the stage ${stage}. It has: production, development.`;
      expect(() => readParameters({ stage }, stages)).toThrow(problem);
      const { tableName } = readParameters({ stage }, { ...stages, [stage]: {} });
      expect(tableName).toBe(`customer-entitlements-${stage}`);
    },
  );
  test("yields to a value given for one deployment", () => {
    expect(readParameters({ tableName: "given" }, stages).tableName).toBe("given");
  });
  test.each([
    [{ tabelName: "x" }, "There is no parameter tabelName: docs/deploy.md lists them."],
    [{ stage: "other" }, "A stage cannot name its stage: stages.json does already."],
    [{ tracedPercent: 101 }, "tracedPercent must be a whole number from 0 to 100; it is 101."],
  ])("is validated like any other value: %j", (production, problem) => {
    expect(() => readParameters({}, { production })).toThrow(problem);
  });
  test.each(["", "[]", "{", '{"production": 1}', '{"production": [1]}', '{"Production": {}}'])(
    "is an object within an object, not %s",
    (json) => {
      expect(() => readStages(json)).toThrow(ParameterError);
    },
  );
});

describe("docs/deploy.md", () => {
  const page = readFileSync(new URL("../../docs/deploy.md", import.meta.url), "utf8");

  test("has the table of the parameters", () => {
    const [section = ""] = page.split("\n## Parameters\n")[1]?.split(/^##/m) ?? [];
    const rows = [...section.matchAll(/^\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm)].map(([, ...cells]) => cells);
    expect(rows.filter(([name]) => name?.startsWith("`"))).toEqual(parameterRows());
  });
  test("names every function that is no endpoint", () => {
    const others = parameterNames()
      .flatMap((name) => /^(\w+)\.memory$/.exec(name)?.[1] ?? [])
      .filter((name) => !(name in endpoints));
    expect(others.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
