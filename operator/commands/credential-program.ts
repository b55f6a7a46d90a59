import type { Command } from "commander";
import {
  issueApiKey,
  listCredentials,
  revokeCredential,
  type IssueOptions,
  type RevokeOptions,
} from "./credential.ts";
import { acting, type Frame } from "./frame.ts";

const collect = (value: string, values: readonly string[] = []): readonly string[] => [...values, value];

/** Defines the commands of API keys. */
export const addCredentialCommands = (program: Command, { answer }: Frame): void => {
  const credential = program.command("credential").description("API keys of an application");
  acting(credential.command("issue"))
    .description("issue an API key, which is shown only once")
    .requiredOption("--application <identifier>", "the application's identifier")
    .requiredOption(
      "--scope <scope>",
      "customers:write, entitlements:read or changes:read; may be repeated",
      collect,
    )
    .option("--expires <time or duration>", "such as 2027-01-31T00:00:00Z or P90D; never by default")
    .option("--label <text>", "a label of your choice")
    .action((options: IssueOptions) => answer((session) => issueApiKey(session, options)));
  credential
    .command("list")
    .description("list the API keys of an application, without their secrets")
    .requiredOption("--application <identifier>", "the application's identifier")
    .action((options: Pick<IssueOptions, "application">) =>
      answer((session) => listCredentials(session, options)),
    );
  acting(credential.command("revoke"))
    .description("revoke an API key permanently")
    .argument("<keyIdentifier>", "the 16 digits between the underscores of the API key")
    .option("--application <identifier>", "revoke it only if it belongs to this application")
    .action((key: string, options: RevokeOptions) =>
      answer((session) => revokeCredential(session, key, options)),
    );
};
