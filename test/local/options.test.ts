import { resolve } from "node:path";
import { readOptions } from "../../local/options.ts";

const ROOT = "ab".repeat(32);

describe("the options of a local service", () => {
  test("default to port 3000 and DynamoDB Local on port 8000, in memory", () => {
    expect(readOptions([], {})).toEqual({
      port: 3000,
      dynamoDb: { port: 8000 },
      dataFolder: null,
      secretsFolder: null,
      environment: {},
    });
  });

  test("are read from the environment, where an empty variable counts as unset", () => {
    expect(
      readOptions([], {
        PORT: "3900",
        DYNAMODB_PORT: "0",
        IOS_STORE_TRUSTED_ROOTS: `${ROOT}, ${ROOT.toUpperCase()}`,
        ANDROID_PUBLISHER_URL: "http://publisher",
        AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://secrets",
        AWS_ENDPOINT_URL_DYNAMODB: "",
        GOOGLE_CERTIFICATES_URL: "http://certificates",
        APP_STORE_SERVER_URL: "http://app-store",
      }),
    ).toEqual({
      port: 3900,
      dynamoDb: { port: 0 },
      dataFolder: null,
      secretsFolder: null,
      environment: {
        AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://secrets",
        GOOGLE_CERTIFICATES_URL: "http://certificates",
        APP_STORE_SERVER_URL: "http://app-store",
      },
      trustedRoots: `${ROOT}, ${ROOT.toUpperCase()}`,
      androidPublisherUrl: "http://publisher",
    });
    expect(readOptions([], { PORT: "", IOS_STORE_TRUSTED_ROOTS: "", ANDROID_PUBLISHER_URL: "" })).toEqual(
      readOptions([], {}),
    );
  });

  test("may name a running DynamoDB, reached with the shell's credentials", () => {
    const endpoint = "http://127.0.0.1:8001";
    expect(
      readOptions([], { AWS_ENDPOINT_URL_DYNAMODB: endpoint, AWS_ACCESS_KEY_ID: "half" }).dynamoDb,
    ).toEqual({
      endpoint,
    });
    expect(
      readOptions([], {
        AWS_ENDPOINT_URL_DYNAMODB: endpoint,
        AWS_REGION: "eu-west-1",
        AWS_ACCESS_KEY_ID: "key",
        AWS_SECRET_ACCESS_KEY: "secret",
        AWS_SESSION_TOKEN: "session",
      }).dynamoDb,
    ).toEqual({
      endpoint,
      region: "eu-west-1",
      accessKeyId: "key",
      secretAccessKey: "secret",
      sessionToken: "session",
    });
  });

  test.each([
    ["http://127.0.0.1:8000", {}, 8000],
    ["http://localhost:8100/", { DYNAMODB_PORT: "8100" }, 8100],
    ["http://127.0.0.1:8000", { DYNAMODB_PORT: "8100" }, undefined],
    ["http://db.example:8000", {}, undefined],
  ])("start the database themselves where %s is their own address, by %j", (endpoint, environment, port) => {
    const { dynamoDb } = readOptions([], { ...environment, AWS_ENDPOINT_URL_DYNAMODB: endpoint });
    expect(dynamoDb).toEqual({ endpoint, ...(port !== undefined && { startsAt: port }) });
  });

  test.each([
    [["here"], { npm_config_data: "true" }, "npm start -- --data here"],
    [[], { npm_config_secrets: "here" }, "npm start -- --secrets here"],
  ])("that npm has taken are told how to be given: %j", (args, environment, command) => {
    expect(() => readOptions(args, environment)).toThrow(command);
  });

  test.each([[["--data", "here"]], [["--data=here"]]])("may name a folder for the data: %j", (args) => {
    expect(readOptions(args, {}).dataFolder).toBe(resolve("here"));
  });
});

test.each([[["--secrets", "here"]], [["--secrets=here"]]])("may name a folder for secrets: %j", (args) => {
  expect(readOptions(args, {})).toMatchObject({ dataFolder: null, secretsFolder: resolve("here") });
});

describe("an invalid option is refused with one sentence:", () => {
  test.each([
    ["PORT", "http"],
    ["PORT", "-1"],
    ["PORT", "65536"],
    ["PORT", "1e3"],
    ["DYNAMODB_PORT", "8000.5"],
  ])("%s=%s is not a port", (name, value) => {
    expect(() => readOptions([], { [name]: value })).toThrow(`${name} must be a port`);
  });

  test.each([
    [["--port", "3000"]],
    [["--data"]],
    [["--data", ""]],
    [["--secrets"]],
    [["--secrets", ""]],
    [["folder"]],
    [["-d", "folder"]],
  ])("%j is not an option", (args) => {
    expect(() => readOptions(args, {})).toThrow(
      /^[^\n]+: npm start takes --data <folder> and --secrets <folder>, and nothing else\.$/,
    );
  });

  test.each([
    "AWS_ENDPOINT_URL_DYNAMODB",
    "ANDROID_PUBLISHER_URL",
    "APP_STORE_SERVER_URL",
    "GOOGLE_CERTIFICATES_URL",
  ])("%s=here is not an address", (name) => {
    expect(() => readOptions([], { [name]: "here" })).toThrow(`${name} must be an http or https address`);
  });

  test.each(["here", "abcd", `${ROOT},`, `${ROOT}0`])(
    "IOS_STORE_TRUSTED_ROOTS=%s is not a fingerprint",
    (roots) => {
      expect(() => readOptions([], { IOS_STORE_TRUSTED_ROOTS: roots })).toThrow(
        "IOS_STORE_TRUSTED_ROOTS must be SHA-256 fingerprints",
      );
    },
  );
});
