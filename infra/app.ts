import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { App } from "aws-cdk-lib";
import * as z from "zod";
import { EntitlementsStack } from "./entitlements-stack.ts";

const PROJECT = new URL("../", import.meta.url);

const cdkJson = z.object({ context: z.record(z.string(), z.json()) });

/** What `cdk.json` decides, so that a stack made without the CDK's command line is the same stack. */
const cdkContext = (): z.infer<typeof cdkJson>["context"] =>
  cdkJson.parse(JSON.parse(readFileSync(new URL("cdk.json", PROJECT), "utf8"))).context;

const settings = z.object({ secretPrefix: z.string().min(1) });

export interface AppOptions {
  /** Where the assembly is written; unset: where the CDK's command line says. */
  readonly outputFolder?: string;
  /** Where the functions' folders are; unset: the service's own. */
  readonly functionsFolder?: string;
}

/** The CDK application: one stack, for whatever account and region it is deployed to. */
export const createApp = ({
  outputFolder,
  functionsFolder = fileURLToPath(new URL("functions", PROJECT)),
}: AppOptions = {}): App => {
  const app = new App({
    analyticsReporting: false,
    context: cdkContext(),
    ...(outputFolder !== undefined && { outdir: outputFolder }),
  });
  const { secretPrefix } = settings.parse({ secretPrefix: app.node.tryGetContext("secretPrefix") });
  // oxlint-disable-next-line no-new -- a construct joins its scope when it is made
  new EntitlementsStack(app, "CustomerEntitlements", {
    description:
      "Links verified store purchases to an application's accounts and answers their entitlements.",
    functionsFolder,
    secretPrefix,
  });
  return app;
};

if (import.meta.main) createApp().synth();
