import { auditEntry } from "../../lib/administration/reports/audit.ts";
import {
  overlapEnd,
  reportDestinations,
  resume,
  rotateSecret,
} from "../../lib/administration/acts/destinations.ts";
import { isWebhook } from "../../lib/applications/destination.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { actorOf, audited, recordAct, type ActingOptions } from "./acting.ts";
import { type Answer, counted, timeOrNull } from "../text/answer.ts";
import { confirm, type Confirmation, type ConfirmationOptions } from "./confirmation.ts";
import { OperatorError } from "../operator-error.ts";
import { findApplication, findDestination, readApplicationIdentifier, type Session } from "../session.ts";
import type { Command } from "commander";
import { acting, APPLICATION, DESTINATION, YES, type Frame } from "./frame.ts";
import { addResend } from "./resend.ts";
import { destinationJson, destinationText, healthJson, healthText } from "../text/destination.ts";

/** Lists an application's destinations: whether each takes messages, and what waits for it. */
export const listDestinations = async (session: Session, applicationText: string): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const reports = await reportDestinations(session.deliveries, application);
  return {
    json: {
      applicationIdentifier: application.identifier,
      destinations: reports.map((report) => destinationJson(report, session.moment)),
    },
    text:
      reports.length === 0
        ? `${application.name} has no destinations.`
        : reports.flatMap((report) => destinationText(report, session.moment)).join("\n"),
  };
};

/** Rotates a webhook's secret, and shows the new one once. */
export const rotateDestination = async (
  session: Session,
  confirmation: Confirmation,
  applicationText: string,
  name: string,
  options: ConfirmationOptions & ActingOptions,
): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const before = findDestination(application, name);
  if (!isWebhook(before))
    throw new OperatorError(`${name} is an event bus: its events are not signed, and it has no secret.`);
  const master = await session.masterSecret();
  const overlaps = overlapEnd(before, session.moment);
  if (overlaps !== null)
    await confirm(
      confirmation,
      options,
      `The secret of ${name} was rotated less than 24 h ago. Rotating again ends the previous secret now instead of at ${isoTime(overlaps)}; receivers that still use it will reject messages.`,
    );
  // The confirmation may have taken time.
  const moment = session.now();
  const entry = auditEntry("rotate", moment, await actorOf(session, options), {
    what: [`destination ${name}: new secret`],
  });
  const rotation = await rotateSecret(
    session.destinations,
    master,
    application.identifier,
    before,
    moment,
    audited(entry),
  );
  if (rotation === null)
    throw new OperatorError(`Nothing was changed: ${name} is being changed by somebody else; try again.`);
  const { secret, destination } = rotation;
  const end = timeOrNull(overlapEnd(destination, moment));
  return {
    json: {
      secret,
      applicationIdentifier: application.identifier,
      destination: name,
      previousSignsUntil: end,
    },
    text: [
      `secret: ${secret}`,
      "",
      "It is shown only once: store it where the receiver keeps its secrets. It signs within a minute.",
      end === null
        ? "It is the first secret that was shown: earlier messages cannot be verified."
        : `The previous secret signs too until ${end}: change the receiver by then.`,
    ].join("\n"),
  };
};

/** Ends a destination's pause or suspension, and makes its waiting messages due at once. */
export const resumeDestination = async (
  session: Session,
  { progress }: Confirmation,
  applicationText: string,
  name: string,
  options: ActingOptions,
): Promise<Answer> => {
  const { deliveries, moment } = session;
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const reference = {
    application: application.identifier,
    destination: findDestination(application, name).name,
  };
  await recordAct(session, application.identifier, options, "resume", {
    what: [`begun: destination ${name} is resumed`],
  });
  const was = await deliveries.healthOf(reference);
  const hastened = await resume(deliveries, reference, moment, (made) =>
    progress(`made ${counted(made, "message")} due`),
  );
  return {
    json: { applicationIdentifier: application.identifier, destination: name, was: healthJson(was) },
    text:
      was.failures > 0
        ? `${name} is resumed: what waits is tried within a minute. It was ${healthText(was)}.`
        : hastened > 0
          ? `${name} takes messages; ${counted(hastened, "message")} that it had refused ${hastened === 1 ? "is" : "are"} tried again within a minute.`
          : `${name} takes messages already.`,
  };
};

/** Defines the commands of an application's destinations. */
export const addDestinationCommands = (program: Command, frame: Frame): void => {
  const { answer, confirmation } = frame;
  const destination = program
    .command("destination")
    .description("destinations of an application, which get its accounts' changes");
  destination
    .command("list")
    .description("list the destinations: whether each takes messages, and what waits for it")
    .argument(...APPLICATION)
    .action((application: string) => answer((session) => listDestinations(session, application)));
  acting(destination.command("rotate"))
    .description("rotate the secret of a webhook and show it once; the previous one signs too for a day")
    .argument(...APPLICATION)
    .argument(...DESTINATION)
    .option(YES, "do not ask, even if a secret stops signing at once")
    .action((application: string, name: string, options: ConfirmationOptions & ActingOptions) =>
      answer((session) => rotateDestination(session, confirmation, application, name, options)),
    );
  acting(destination.command("resume"))
    .description("end the pause of a destination that failed, or the suspension of one that answered 410")
    .argument(...APPLICATION)
    .argument(...DESTINATION)
    .action((application: string, name: string, options: ActingOptions) =>
      answer((session) => resumeDestination(session, confirmation, application, name, options)),
    );
  addResend(destination, frame);
};
