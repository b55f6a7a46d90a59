import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { takenByNpm } from "../operator/taken-by-npm.ts";
import type { WantedDynamoDb } from "./database/database.ts";
import type { LocalServiceOptions } from "./local-service.ts";
import { LocalError } from "./server.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const PORT = 3000;
const DYNAMODB_PORT = 8000;
const HIGHEST_PORT = 65_535;

const USAGE = "npm start takes --data <folder> and --secrets <folder>, and nothing else.";

const portOf = (environment: Environment, name: string, preset: number): number => {
  const text = environment[name];
  if (!text) return preset;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= HIGHEST_PORT))
    throw new LocalError(
      `${name} must be a port from 0 to ${HIGHEST_PORT} (0: any free one); it is ${text}.`,
    );
  return port;
};

const foldersOf = (
  args: readonly string[],
  environment: Environment,
): Pick<LocalServiceOptions, "dataFolder" | "secretsFolder"> => {
  const taken = takenByNpm(environment, ["data", "secrets"]);
  if (taken !== null)
    throw new LocalError(
      `npm has taken ${taken} for itself; write npm start -- ${[taken, ...args].join(" ")}`,
    );
  const folder = (name: string, value: string | undefined): string | null => {
    if (value === "") throw new LocalError(`--${name} needs a folder: ${USAGE}`);
    return value === undefined ? null : resolve(value);
  };
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { data: { type: "string" }, secrets: { type: "string" } },
    });
    return { dataFolder: folder("data", values.data), secretsFolder: folder("secrets", values.secrets) };
  } catch (error) {
    if (error instanceof LocalError) throw error;
    const reason = error instanceof Error ? (error.message.split(/[.;]/, 1)[0] ?? "") : String(error);
    throw new LocalError(`${reason}: ${USAGE}`, { cause: error });
  }
};

const requireAddress = (name: string, text: string): string => {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ""))
    throw new LocalError(`${name} must be an http or https address; it is ${text}.`);
  return text;
};

const dynamoDbOf = (environment: Environment): WantedDynamoDb => {
  const endpoint = environment["AWS_ENDPOINT_URL_DYNAMODB"];
  const port = portOf(environment, "DYNAMODB_PORT", DYNAMODB_PORT);
  if (!endpoint) return { port };
  const { hostname, port: given } = new URL(requireAddress("AWS_ENDPOINT_URL_DYNAMODB", endpoint));
  // This run's own database: it may be started even if the shell exports its endpoint.
  const isOwn = ["127.0.0.1", "localhost"].includes(hostname) && given === String(port);
  const region = environment["AWS_REGION"] || environment["AWS_DEFAULT_REGION"];
  const accessKeyId = environment["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = environment["AWS_SECRET_ACCESS_KEY"];
  const sessionToken = environment["AWS_SESSION_TOKEN"];
  return {
    endpoint,
    ...(isOwn && { startsAt: port }),
    ...(region && { region }),
    ...(accessKeyId &&
      secretAccessKey && {
        credentials: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) },
      }),
  };
};

const FINGERPRINT = /^(?:[0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$/;

const trustedRootsOf = (environment: Environment): { trustedRoots?: string } => {
  const trustedRoots = environment["IOS_STORE_TRUSTED_ROOTS"];
  if (!trustedRoots) return {};
  if (!trustedRoots.split(",").every((root) => FINGERPRINT.test(root.trim())))
    throw new LocalError(
      "IOS_STORE_TRUSTED_ROOTS must be SHA-256 fingerprints of certificates (64 hexadecimal digits), separated by commas.",
    );
  return { trustedRoots };
};

/** Stores' addresses that the functions read themselves. */
const STORE_ADDRESSES = new Set(["APP_STORE_SERVER_URL", "GOOGLE_CERTIFICATES_URL"]);

/** The shell's addresses for the functions: those of other AWS services, and the stores'. */
const addressesOf = (environment: Environment): Record<string, string> => {
  const addresses: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!value || name === "AWS_ENDPOINT_URL_DYNAMODB") continue;
    if (STORE_ADDRESSES.has(name)) addresses[name] = requireAddress(name, value);
    else if (name.startsWith("AWS_ENDPOINT_URL_")) addresses[name] = value;
  }
  return addresses;
};

/** @throws LocalError that says what is expected */
export const readOptions = (
  args: readonly string[],
  environment: Environment,
): Omit<LocalServiceOptions, "log" | "onRequest"> => {
  const androidPublisherUrl = environment["ANDROID_PUBLISHER_URL"];
  return {
    port: portOf(environment, "PORT", PORT),
    dynamoDb: dynamoDbOf(environment),
    ...foldersOf(args, environment),
    environment: addressesOf(environment),
    ...trustedRootsOf(environment),
    ...(environment["DESTINATIONS"] && { destinations: environment["DESTINATIONS"] }),
    ...(androidPublisherUrl && {
      androidPublisherUrl: requireAddress("ANDROID_PUBLISHER_URL", androidPublisherUrl),
    }),
  };
};
