import { reportDestinations, resume, rotateSecret } from "../../lib/administration/acts/destinations.ts";
import { overlapEnd } from "../../lib/delivery/webhook-secret.ts";
import { isWebhook } from "../../lib/applications/destination.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { OperatorError } from "../operator-error.ts";
import { counted, timeOrNull } from "../text/answer.ts";
import { destinationJson, destinationText, healthJson, healthText } from "../text/destination.ts";
import { ACTING, entryOf, recordAct } from "./acting.ts";
import { APPLICATION, DESTINATION, findDestination } from "./arguments.ts";
import { command, flag } from "./command.ts";

export const listDestinations = command({
  name: "destination list",
  about: "list the destinations: whether each takes messages, and what waits for it",
  takes: { application: APPLICATION },
  options: {},
  run: async ({ session, application }) => {
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
  },
});

export const rotateDestination = command({
  name: "destination rotate",
  about: "rotate the secret of a webhook and show it once; the previous one signs too for a day",
  takes: { application: APPLICATION, name: DESTINATION },
  options: { ...ACTING, yes: flag("--yes", "do not ask, even if a secret stops signing at once") },
  run: async ({ session, application, name, options, confirm }) => {
    const { identifier } = application;
    const before = findDestination(application, name);
    if (!isWebhook(before))
      throw new OperatorError(`${name} is an event bus: its events are not signed, and it has no secret.`);
    const master = await session.masterSecret();
    const overlaps = overlapEnd(before, session.moment);
    if (overlaps !== null)
      await confirm(
        `The secret of ${name} was rotated less than 24 h ago. Rotating again ends the previous secret now instead of at ${isoTime(overlaps)}; receivers that still use it will reject messages.`,
      );
    // The confirmation may have taken time.
    const moment = session.now();
    const entry = await entryOf(session, options, "rotate", { what: [`destination ${name}: new secret`] });
    const { destinations } = session;
    const rotation = await rotateSecret(destinations, master, identifier, before, moment, entry);
    if (rotation === null)
      throw new OperatorError(`Nothing was changed: ${name} is being changed by somebody else; try again.`);
    const { secret, destination } = rotation;
    const end = timeOrNull(overlapEnd(destination, moment));
    return {
      json: { secret, applicationIdentifier: identifier, destination: name, previousSignsUntil: end },
      text: [
        `secret: ${secret}`,
        "",
        "It is shown only once: store it where the receiver keeps its secrets. It signs within a minute.",
        end === null
          ? "It is the first secret that was shown: earlier messages cannot be verified."
          : `The previous secret signs too until ${end}: change the receiver by then.`,
      ].join("\n"),
    };
  },
});

export const resumeDestination = command({
  name: "destination resume",
  about: "end the pause of a destination that failed, or the suspension of one that answered 410",
  takes: { application: APPLICATION, name: DESTINATION },
  options: ACTING,
  run: async ({ session, application, name, options, progress }) => {
    const { deliveries, moment } = session;
    const { identifier } = application;
    const reference = { application: identifier, destination: findDestination(application, name).name };
    await recordAct(session, identifier, options, "resume", {
      what: [`begun: destination ${name} is resumed`],
    });
    const was = await deliveries.healthOf(reference);
    const hastened = await resume(deliveries, reference, moment, (made) =>
      progress(`made ${counted(made, "message")} due`),
    );
    return {
      json: { applicationIdentifier: identifier, destination: name, was: healthJson(was) },
      text:
        was.failures > 0
          ? `${name} is resumed: what waits is tried within a minute. It was ${healthText(was)}.`
          : hastened > 0
            ? `${name} takes messages; ${counted(hastened, "message")} that it had refused ${hastened === 1 ? "is" : "are"} tried again within a minute.`
            : `${name} takes messages already.`,
    };
  },
});
