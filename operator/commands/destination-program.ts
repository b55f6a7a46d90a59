import type { Command } from "commander";
import type { ActingOptions } from "./acting.ts";
import type { ConfirmationOptions } from "./confirmation.ts";
import { listDestinations, resumeDestination, rotateDestination } from "./destination.ts";
import { acting, YES, type Frame } from "./frame.ts";
import { resend, type ResendOptions } from "./resend.ts";

/** Defines the commands of an application's destinations. */
export const addDestinationCommands = (program: Command, { answer, confirmation }: Frame): void => {
  const destination = program
    .command("destination")
    .description("destinations of an application, which get its accounts' changes");
  const ofOne = (command: Command): Command =>
    acting(command)
      .argument("<application>", "the application's identifier")
      .argument("<name>", "the destination's name in the manifest");
  destination
    .command("list")
    .description("list the destinations: whether each takes messages, and what waits for it")
    .argument("<application>", "the application's identifier")
    .action((application: string) => answer((session) => listDestinations(session, application)));
  ofOne(destination.command("rotate"))
    .description("rotate the secret of a webhook and show it once; the previous one signs too for a day")
    .option(YES, "do not ask, even if a secret stops signing at once")
    .action((application: string, name: string, options: ConfirmationOptions & ActingOptions) =>
      answer((session) => rotateDestination(session, confirmation, application, name, options)),
    );
  ofOne(destination.command("resume"))
    .description("end the pause of a destination that failed, or the suspension of one that answered 410")
    .action((application: string, name: string, options: ActingOptions) =>
      answer((session) => resumeDestination(session, confirmation, application, name, options)),
    );
  ofOne(destination.command("resend"))
    .description("deliver the newest version of each account that has changed since once more")
    .requiredOption(
      "--since <cursor or time>",
      "a cursor of the feed, or a time such as 2027-01-31T00:00:00Z",
    )
    .action((application: string, name: string, options: ResendOptions) =>
      answer((session) => resend(session, confirmation, application, name, options)),
    );
};
