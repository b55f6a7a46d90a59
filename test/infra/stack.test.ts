import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ERRORS, type ErrorCode } from "../../lib/contract/errors.ts";
import { TABLE } from "../../lib/table/keys.ts";

/** A template is any JSON; a path that is not in it fails its test. */
type Json = ReturnType<typeof JSON.parse>;

interface Resource {
  readonly Type: string;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly Properties: Json;
}

interface Synthesis {
  readonly folder: string;
  readonly resources: Readonly<Record<string, Resource>>;
  readonly outputs: Readonly<Record<string, { readonly Value: unknown }>>;
}

const APP = fileURLToPath(new URL("../local/functions-app.ts", import.meta.url));
const folders: string[] = [];

/** Synthesizes in a process that has nothing of this one's environment: no credentials, no region, no home. */
const synthesize = async (environment: Readonly<Record<string, string>> = {}): Promise<Synthesis> => {
  const folder = mkdtempSync(join(tmpdir(), "stack-"));
  folders.push(folder);
  await promisify(execFile)(process.execPath, [APP], { env: { CDK_OUTDIR: folder, ...environment } });
  const template = JSON.parse(readFileSync(join(folder, "CustomerEntitlements.template.json"), "utf8"));
  return { folder, resources: template.Resources, outputs: template.Outputs };
};

let first: Synthesis;
let second: Synthesis;
let configured: Synthesis;

beforeAll(async () => {
  [first, second] = await Promise.all([synthesize(), synthesize({ TZ: "Asia/Tokyo", USER: "somebody" })]);
  configured = await synthesize({ CDK_CONTEXT_JSON: JSON.stringify({ secretPrefix: "trails/" }) });
}, 90_000);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const ofType = (type: string, { resources } = first): [id: string, Resource][] =>
  Object.entries(resources).filter(([, { Type }]) => Type === type);

const only = (type: string): Resource => {
  const [found, ...others] = ofType(type);
  if (!found || others.length > 0) throw new Error(`There is not one ${type}.`);
  return found[1];
};

const listing = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = join(entry.parentPath, entry.name);
        return [file.slice(folder.length), readFileSync(file, "utf8").replaceAll(folder, "")];
      }),
  );

/** The only function whose logical id starts so. */
const functionOf = (name: string, { resources } = first): Resource => {
  const found = ofType("AWS::Lambda::Function", { ...first, resources }).find(([id]) => id.startsWith(name));
  if (!found) throw new Error(`There is no function ${name}.`);
  return found[1];
};

const FUNCTIONS = [
  "AuthorizeCredential",
  "LinkAndroidStoreCustomer",
  "LinkIosStoreCustomer",
  "ReadAccountEntitlements",
  "SynchronizeIosStorePurchases",
];

test("the same sources give the same assembly, wherever and by whomever it is made", () => {
  expect(listing(second.folder)).toEqual(listing(first.folder));
});

describe("the API", () => {
  const pathOf = (id: string): string => {
    const properties = first.resources[id]?.Properties;
    return properties?.PathPart === undefined
      ? ""
      : `${pathOf(properties.ParentId.Ref ?? "")}/${properties.PathPart}`;
  };

  test("has the contract's routes and no others; those with a scope ask the authorizer", () => {
    const routes = ofType("AWS::ApiGateway::Method").map(([, { Properties }]) => ({
      method: Properties.HttpMethod,
      path: pathOf(Properties.ResourceId.Ref),
      authorization: Properties.AuthorizationType,
      authorizer: Properties.AuthorizerId !== undefined,
      apiKey: Properties.ApiKeyRequired ?? false,
    }));
    const byPath = (a: { path: string }, b: { path: string }): number => (a.path < b.path ? -1 : 1);
    expect(routes.sort(byPath)).toEqual(
      Object.values<Endpoint>(endpoints)
        .map(({ method, path, scope }) => ({
          method,
          path,
          authorization: scope === null ? "NONE" : "CUSTOM",
          authorizer: scope !== null,
          apiKey: false,
        }))
        .sort(byPath),
    );
  });

  test.each(Object.entries<Endpoint>(endpoints))("%s goes to its own function", (name, { path }) => {
    const [, method] = ofType("AWS::ApiGateway::Method").find(
      ([, { Properties }]) => pathOf(Properties.ResourceId.Ref) === path,
    ) ?? ["", null];
    expect(JSON.stringify(method?.Properties.Integration.Uri)).toContain(
      `"${name[0]?.toUpperCase()}${name.slice(1)}Function`,
    );
    expect(method?.Properties.Integration.Type).toBe("AWS_PROXY");
  });

  test("asks the authorizer about API keys only, and keeps its answer for a minute", () => {
    const { Properties } = only("AWS::ApiGateway::Authorizer");
    expect(Properties).toMatchObject({
      Type: "TOKEN",
      IdentitySource: "method.request.header.Authorization",
      IdentityValidationExpression: "^[Bb][Ee][Aa][Rr][Ee][Rr] +cek_[0-9a-f]{16}_[0-9a-f]{72}$",
      AuthorizerResultTtlInSeconds: 60,
    });
    expect(JSON.stringify(Properties.AuthorizerUri)).toContain("AuthorizeCredentialFunction");
  });

  test("is regional, compresses from 1 KB, and is the one stage", () => {
    expect(only("AWS::ApiGateway::RestApi").Properties).toMatchObject({
      EndpointConfiguration: { Types: ["REGIONAL"] },
      MinimumCompressionSize: 1024,
    });
    expect(only("AWS::ApiGateway::Stage").Properties.StageName).toBe("live");
  });

  test("is deployed after every route, authorizer and gateway response is in place", () => {
    const deployment = only("AWS::ApiGateway::Deployment");
    const parts = ["Method", "Resource", "GatewayResponse"].flatMap((part) =>
      ofType(`AWS::ApiGateway::${part}`).map(([id]) => id),
    );
    expect(deployment.DependsOn).toEqual(expect.arrayContaining(parts));
  });
});

describe("gateway responses", () => {
  const EXPECTED: readonly (readonly [type: string, status: number | undefined, code: ErrorCode])[] = [
    ["UNAUTHORIZED", 401, "INVALID_CREDENTIAL"],
    ["ACCESS_DENIED", 403, "INSUFFICIENT_SCOPE"],
    ["MISSING_AUTHENTICATION_TOKEN", 404, "ROUTE_NOT_FOUND"],
    ["RESOURCE_NOT_FOUND", 404, "ROUTE_NOT_FOUND"],
    ["INVALID_SIGNATURE", 404, "ROUTE_NOT_FOUND"],
    ["EXPIRED_TOKEN", 404, "ROUTE_NOT_FOUND"],
    ["INVALID_API_KEY", 404, "ROUTE_NOT_FOUND"],
    ["BAD_REQUEST_BODY", 400, "INVALID_REQUEST"],
    ["BAD_REQUEST_PARAMETERS", 400, "INVALID_REQUEST"],
    ["REQUEST_TOO_LARGE", 413, "REQUEST_TOO_LARGE"],
    ["UNSUPPORTED_MEDIA_TYPE", 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["THROTTLED", 429, "TOO_MANY_REQUESTS"],
    ["QUOTA_EXCEEDED", 429, "TOO_MANY_REQUESTS"],
    ["AUTHORIZER_FAILURE", 500, "INTERNAL_ERROR"],
    ["AUTHORIZER_CONFIGURATION_ERROR", 500, "INTERNAL_ERROR"],
    ["API_CONFIGURATION_ERROR", 500, "INTERNAL_ERROR"],
    ["INTEGRATION_FAILURE", 500, "INTERNAL_ERROR"],
    ["INTEGRATION_TIMEOUT", 504, "INTERNAL_ERROR"],
    ["DEFAULT_4XX", undefined, "INVALID_REQUEST"],
    ["DEFAULT_5XX", undefined, "INTERNAL_ERROR"],
  ];

  test.each(EXPECTED)("%s: status %s, %s", (type, status, code) => {
    const [, response] = ofType("AWS::ApiGateway::GatewayResponse").find(
      ([, { Properties }]) => Properties.ResponseType === type,
    ) ?? ["", null];
    expect(response?.Properties.StatusCode).toBe(status === undefined ? undefined : String(status));
    expect(Object.keys(response?.Properties.ResponseTemplates)).toEqual(["application/json"]);
    expect(JSON.parse(response?.Properties.ResponseTemplates["application/json"])).toEqual({
      error: code,
      message: ERRORS[code].message,
    });
  });

  test("there are no others", () => {
    expect(ofType("AWS::ApiGateway::GatewayResponse")).toHaveLength(EXPECTED.length);
  });
});

describe("functions", () => {
  test("there are five, of the same runtime and architecture", () => {
    const functions = ofType("AWS::Lambda::Function");
    expect(functions).toHaveLength(FUNCTIONS.length);
    for (const [, { Properties }] of functions)
      expect(Properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
      });
  });

  test.each(FUNCTIONS)("%s is told the table, and nothing else", (name) => {
    const [[table] = [""]] = ofType("AWS::DynamoDB::GlobalTable");
    expect(functionOf(name).Properties.Environment.Variables).toEqual({ TABLE_NAME: { Ref: table } });
  });

  test.each(FUNCTIONS)("%s ends before API Gateway stops waiting for it", (name) => {
    expect(functionOf(name).Properties.Timeout).toBeLessThan(29);
  });

  test("their code is one file, made without Docker, with the SDK in it", () => {
    for (const [, { Properties }] of ofType("AWS::Lambda::Function")) {
      const code = join(first.folder, `asset.${Properties.Code.S3Key.replace(".zip", "")}`);
      expect(readdirSync(code)).toEqual(["index.cjs"]);
    }
  });
});

describe("roles", () => {
  const WRITES = [
    "dynamodb:BatchGetItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem",
  ];

  interface Statement {
    readonly Effect: string;
    readonly Action: string | readonly string[];
    readonly Resource: unknown;
  }

  /** What the role of a function may do, without its own log. */
  const statementsOf = (name: string, { resources } = first): Statement[] => {
    const role = functionOf(name, { ...first, resources }).Properties.Role["Fn::GetAtt"][0];
    expect(resources[role]?.Properties.ManagedPolicyArns).toBeUndefined();
    return Object.values(resources)
      .filter(({ Type, Properties }) => Type === "AWS::IAM::Policy" && Properties.Roles[0].Ref === role)
      .flatMap(({ Properties }): Statement[] => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => !JSON.stringify(Action).includes("logs:"));
  };

  const onTable = (...actions: string[]): Statement => ({
    Effect: "Allow",
    Action: actions.length === 1 ? (actions[0] ?? "") : actions,
    Resource: { "Fn::GetAtt": [ofType("AWS::DynamoDB::GlobalTable")[0]?.[0], "Arn"] },
  });

  const secrets = (prefix: string): Statement => ({
    Effect: "Allow",
    Action: "secretsmanager:GetSecretValue",
    Resource: {
      "Fn::Join": [
        "",
        [
          "arn:",
          { Ref: "AWS::Partition" },
          ":secretsmanager:",
          { Ref: "AWS::Region" },
          ":",
          { Ref: "AWS::AccountId" },
          `:secret:${prefix}*`,
        ],
      ],
    },
  });

  test("the authorizer gets single items", () => {
    expect(statementsOf("AuthorizeCredential")).toEqual([onTable("dynamodb:GetItem")]);
  });

  test("the reader queries, and cannot write", () => {
    expect(statementsOf("ReadAccountEntitlements")).toEqual([onTable("dynamodb:Query")]);
  });

  test.each(["LinkIosStoreCustomer", "SynchronizeIosStorePurchases"])("%s changes the table", (name) => {
    expect(statementsOf(name)).toEqual([onTable(...WRITES)]);
  });

  test("the Android-store function changes the table and reads the secrets of the prefix", () => {
    expect(statementsOf("LinkAndroidStoreCustomer")).toEqual([
      onTable(...WRITES),
      secrets("customer-entitlements/"),
    ]);
    expect(statementsOf("LinkAndroidStoreCustomer", configured)).toContainEqual(secrets("trails/"));
  });

  test("nobody may use the table's index, and no statement is for everything", () => {
    for (const [, { Properties }] of ofType("AWS::IAM::Policy")) {
      expect(JSON.stringify(Properties)).not.toContain("/index/");
      for (const { Resource } of Properties.PolicyDocument.Statement) expect(Resource).not.toBe("*");
    }
  });
});

test("the table is on demand, recoverable, kept when its stack goes, and keyed as the code says", () => {
  const { Properties, DeletionPolicy } = only("AWS::DynamoDB::GlobalTable");
  expect(DeletionPolicy).toBe("Retain");
  expect(Properties).toMatchObject({
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [
      { AttributeName: TABLE.partitionKey, KeyType: "HASH" },
      { AttributeName: TABLE.sortKey, KeyType: "RANGE" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: TABLE.ownerIndex,
        KeySchema: [
          { AttributeName: TABLE.ownerAttribute, KeyType: "HASH" },
          { AttributeName: TABLE.partitionKey, KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
    TimeToLiveSpecification: { AttributeName: TABLE.timeToLiveAttribute, Enabled: true },
    Replicas: [{ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }],
  });
});

test("the outputs are the address, which the contract's paths follow, and the table's name", () => {
  const [[api] = [""]] = ofType("AWS::ApiGateway::RestApi");
  const [[table] = [""]] = ofType("AWS::DynamoDB::GlobalTable");
  expect(Object.fromEntries(Object.entries(first.outputs).map(([name, { Value }]) => [name, Value]))).toEqual(
    {
      Address: {
        "Fn::Join": [
          "",
          [
            "https://",
            { Ref: api },
            ".execute-api.",
            { Ref: "AWS::Region" },
            ".",
            { Ref: "AWS::URLSuffix" },
            "/live",
          ],
        ],
      },
      TableName: { Ref: table },
    },
  );
});
