import { resolve } from "node:path";
import { readOptions } from "../../local/options.ts";

const ROOT = "ab".repeat(32);
const DEFAULTS = {
  port: 3000,
  dynamoDb: { port: 8000 },
  dataFolder: null,
  secretsFolder: null,
  environment: {},
};
const DATABASE = "http://127.0.0.1:8001";
const SHELL = {
  AWS_REGION: "eu-west-1",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_SESSION_TOKEN: "session",
};

test.each<[rule: string, args: string[], variables: Record<string, string>, changes: object]>([
  ["ports 3000 and 8000, in memory", [], {}, {}],
  ["an empty variable counts as unset", [], { PORT: "", IOS_STORE_TRUSTED_ROOTS: "" }, {}],
  ["other ports", [], { PORT: "3900", DYNAMODB_PORT: "0" }, { port: 3900, dynamoDb: { port: 0 } }],
  [
    "other ends",
    [],
    {
      IOS_STORE_TRUSTED_ROOTS: `${ROOT}, ${ROOT.toUpperCase()}`,
      ANDROID_PUBLISHER_URL: "http://publisher",
      AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://secrets",
      GOOGLE_CERTIFICATES_URL: "http://certificates",
      APP_STORE_SERVER_URL: "http://app-store",
    },
    {
      environment: {
        AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://secrets",
        GOOGLE_CERTIFICATES_URL: "http://certificates",
        APP_STORE_SERVER_URL: "http://app-store",
      },
      trustedRoots: `${ROOT}, ${ROOT.toUpperCase()}`,
      androidPublisherUrl: "http://publisher",
    },
  ],
  [
    "a running DynamoDB, without half of a credential",
    [],
    { AWS_ENDPOINT_URL_DYNAMODB: DATABASE, AWS_ACCESS_KEY_ID: "half" },
    { dynamoDb: { endpoint: DATABASE } },
  ],
  [
    "a running DynamoDB, with the shell's credentials",
    [],
    { AWS_ENDPOINT_URL_DYNAMODB: DATABASE, ...SHELL },
    {
      dynamoDb: {
        endpoint: DATABASE,
        region: "eu-west-1",
        credentials: { accessKeyId: "key", secretAccessKey: "secret", sessionToken: "session" },
      },
    },
  ],
  [
    "a DynamoDB at its own address, which is started",
    [],
    { AWS_ENDPOINT_URL_DYNAMODB: "http://localhost:8100/", DYNAMODB_PORT: "8100" },
    { dynamoDb: { endpoint: "http://localhost:8100/", startsAt: 8100 } },
  ],
  ["a folder for data", ["--data", "here"], {}, { dataFolder: resolve("here") }],
  ["a folder for secrets", ["--secrets=here"], {}, { secretsFolder: resolve("here") }],
])("an option is read: %s", (_, args, variables, changes) => {
  expect(readOptions(args, variables)).toEqual({ ...DEFAULTS, ...changes });
});

test.each<[args: string[], variables: Record<string, string>, problem: RegExp]>([
  [["here"], { npm_config_data: "true" }, /npm start -- --data here/],
  [[], { npm_config_secrets: "here" }, /npm start -- --secrets here/],
  [
    ["--port", "3000"],
    {},
    /^[^\n]+: npm start takes --data <folder> and --secrets <folder>, and nothing else\.$/,
  ],
  [["--secrets", ""], {}, /npm start takes/],
  [[], { PORT: "65536" }, /^PORT must be a port/],
  [[], { DYNAMODB_PORT: "8000.5" }, /^DYNAMODB_PORT must be a port/],
  [[], { AWS_ENDPOINT_URL_DYNAMODB: "here" }, /must be an http or https address/],
  [[], { ANDROID_PUBLISHER_URL: "here" }, /must be an http or https address/],
  [[], { GOOGLE_CERTIFICATES_URL: "here" }, /must be an http or https address/],
  [[], { IOS_STORE_TRUSTED_ROOTS: "abcd" }, /must be SHA-256 fingerprints/],
  [[], { IOS_STORE_TRUSTED_ROOTS: `${ROOT},` }, /must be SHA-256 fingerprints/],
])("%j with %j is refused with one sentence", (args, variables, problem) => {
  expect(() => readOptions(args, variables)).toThrow(problem);
});
