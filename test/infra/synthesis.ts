import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { AUTHORIZER, type OtherFunction, SCHEDULED_FUNCTIONS } from "../../infra/functions.ts";
import { assemblyFolder, madeOnce } from "../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";

/** A template is any JSON; reading a path that does not exist fails the test. */
export type Json = ReturnType<typeof JSON.parse>;

export interface Resource {
  readonly Type: string;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly Properties: Json;
}

export interface Synthesis {
  readonly folder: string;
  /** The resources of both stacks. */
  readonly resources: Readonly<Record<string, Resource>>;
  readonly data: Readonly<Record<string, Resource>>;
  readonly outputs: Readonly<Record<string, { readonly Value: unknown }>>;
  readonly manifest: Json;
}

/** Everything that is off in production, and vice versa. */
export const DEVELOPMENT = {
  stage: "development",
  secretPrefix: "trails/",
  domainName: "api.example.com",
  certificateArn: "arn:aws:acm:us-east-1:123456789012:certificate/0198c0de",
  hostedZoneId: "Z0123456789",
  monthlyBudget: "50",
  version: "4f2a91c",
  tableKeyArn: "arn:aws:kms:us-east-1:123456789012:key/of-the-table",
  secretsKeyArn: "arn:aws:kms:us-east-1:123456789012:key/0198c0de-0000-4000-8000-0000000000a5",
  managesLogRole: "false",
  invocationReports: "true",
  "readAccountEntitlements.reservedConcurrency": "20",
  "readAccountEntitlements.provisionedConcurrency": "2",
  "linkIosStoreCustomer.memory": "1769",
  "synchronizeIosStorePurchases.rate": "33",
};

/** A stage whose callers are looked at. */
const GUARDED = {
  stage: "guarded",
  alarmEmail: "operator@example.com",
  dashboard: "true",
  requestsPerAddress: "none",
  synchronizesPerAddress: "none",
  iosNotificationsFromAppleOnly: "true",
  blockedAddresses: "203.0.113.0/24, 198.51.100.7 2001:db8::/32",
  addressLimitLogs: "true",
  accessLogAddresses: "true",
};

const STAGES = { production: {}, development: DEVELOPMENT, guarded: GUARDED } as const;
export type StageName = keyof typeof STAGES;

/**
 * Folder with an assembly for each stage, and `faulty`, synthesized under all checks in a process without this one's
 * environment: no credentials, no region, no home.
 */
export const checked = await madeOnce("checked-stages", async (folder) => {
  const apps = Object.entries({ ...STAGES, faulty: {} }).map(([name, context]) => ({
    folder: join(folder, name),
    context,
    withFaults: name === "faulty",
  }));
  const app = fileURLToPath(new URL("checked-app.ts", import.meta.url));
  await promisify(execFile)(process.execPath, [app, JSON.stringify(apps)], {
    env: { TZ: "Asia/Tokyo", USER: "somebody" },
  });
});

const readStage = (folder: string, stage: StageName): Synthesis => {
  const name = `customer-entitlements${stage === "production" ? "" : `-${stage}`}`;
  const json = (file: string): Json => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const service = json(`${name}-service.template.json`);
  const { Resources: data } = json(`${name}-data.template.json`);
  const resources = { ...data, ...service.Resources };
  return { folder, data, resources, outputs: service.Outputs, manifest: json("manifest.json") };
};

/** The three stages; production's as every other test has it. */
export const stages: Readonly<Record<StageName, Synthesis>> = {
  production: readStage(await assemblyFolder(FUNCTIONS_APP), "production"),
  development: readStage(join(checked, "development"), "development"),
  guarded: readStage(join(checked, "guarded"), "guarded"),
};

export const ofType = (type: string, { resources }: Pick<Synthesis, "resources">): [id: string, Resource][] =>
  Object.entries(resources).filter(([, { Type }]) => Type === type);

export const only = (type: string, synthesis: Pick<Synthesis, "resources">): Resource => {
  const [found, ...others] = ofType(type, synthesis);
  if (!found || others.length > 0) throw new Error(`There is not one ${type}.`);
  return found[1];
};

/** The function whose logical id starts with this name. */
export const functionOf = (name: string, synthesis: Pick<Synthesis, "resources">): [id: string, Resource] => {
  const found = ofType("AWS::Lambda::Function", synthesis).find(([id]) => id.startsWith(name));
  if (!found) throw new Error(`There is no function ${name}.`);
  return found;
};

const constructOf = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** Data of every function, by the beginning of its logical id. */
export const DATA: Readonly<Record<string, Pick<OtherFunction, "table" | "store">>> = Object.fromEntries(
  Object.entries({ authorizeCredential: AUTHORIZER, ...endpoints, ...SCHEDULED_FUNCTIONS }).map(
    ([name, data]) => [constructOf(name), data],
  ),
);
export const FUNCTIONS = Object.keys(DATA);
export const SCHEDULED: ReadonlySet<string> = new Set(Object.keys(SCHEDULED_FUNCTIONS).map(constructOf));
