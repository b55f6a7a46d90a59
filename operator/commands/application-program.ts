import type { Command } from "commander";
import type { ActingOptions } from "./acting.ts";
import { findApplicationOf, listApplications, showApplication } from "./application.ts";
import { applyApplication } from "./apply.ts";
import { showAudit, type AuditOptions } from "./audit.ts";
import type { ConfirmationOptions } from "./confirmation.ts";
import { acting, YES, type Frame } from "./frame.ts";
import { refreshApplication, type ApplicationRefreshOptions } from "./refresh.ts";
import { reproject, type ReprojectOptions } from "./reproject.ts";
import { retell, type RetellOptions } from "./retell.ts";

/** Defines the commands of applications. */
export const addApplicationCommands = (program: Command, { answer, confirmation }: Frame): void => {
  const application = program
    .command("application")
    .description("applications: their stores, entitlements and products");
  acting(application.command("apply"))
    .description("create the application that a manifest describes, or update it to match")
    .argument("<file>", "the manifest, YAML")
    .option(YES, "do not ask, even if customers can lose access")
    .action((file: string, options: ConfirmationOptions & ActingOptions) =>
      answer((session) => applyApplication(session, confirmation, file, options)),
    );
  application
    .command("list")
    .description("list the applications of the table")
    .action(() => answer(listApplications));
  application
    .command("show")
    .description("show an application as a manifest")
    .argument("<application>", "the application's identifier")
    .action((identifier: string) => answer((session) => showApplication(session, identifier)));
  acting(application.command("reproject"))
    .description(
      "recompute every customer's holdings from its purchases, after the catalog maps more products",
    )
    .argument("<application>", "the application's identifier")
    .option("--after <position>", "go on after the position that an interrupted run has shown")
    .action((identifier: string, options: ReprojectOptions) =>
      answer((session) => reproject(session, confirmation, identifier, options)),
    );
  acting(application.command("retell"))
    .description("deliver every account's changes now, after the catalog or the destinations changed")
    .argument("<application>", "the application's identifier")
    .option("--after <position>", "go on after the position that an interrupted run has shown")
    .action((identifier: string, options: RetellOptions) =>
      answer((session) => retell(session, confirmation, identifier, options)),
    );
  acting(application.command("refresh"))
    .description("ask the stores about the purchases of all customers, one after the other")
    .argument("<application>", "the application's identifier")
    .option("--store <store>", "ask only the ios-store or the android-store")
    .option(
      "--since <time>",
      "leave out purchases verified since then: the time that an interrupted run names; now by default",
    )
    .action((identifier: string, options: ApplicationRefreshOptions) =>
      answer((session) => refreshApplication(session, confirmation, identifier, options)),
    );
  application
    .command("find")
    .description("find the application that has a bundle or a package")
    .argument("<name>", "an iOS-store bundle identifier or an Android-store package name")
    .action((name: string) => answer((session) => findApplicationOf(session, name)));
  application
    .command("audit")
    .description("list what operators changed, and transfers: when, by whom, and why")
    .argument("<application>", "the application's identifier")
    .option("--account <account>", "only what can concern this account")
    .action((identifier: string, options: AuditOptions) =>
      answer((session) => showAudit(session, identifier, options)),
    );
};
