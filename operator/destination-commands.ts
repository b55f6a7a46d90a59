import { auditEntry } from "../lib/administration/reports/audit.ts";
import {
  overlapEnd,
  reportDestinations,
  resume,
  rotateSecret,
  type DestinationReport,
} from "../lib/administration/acts/destinations.ts";
import type { Application } from "../lib/applications/application.ts";
import { isWebhook, type Destination } from "../lib/applications/destination.ts";
import { isoTime, type Instant } from "../lib/entitlements/time.ts";
import { isSuspended, type DestinationHealth } from "../lib/telling/destination-health.ts";
import { actorOf, audited, recordAct, type ActingOptions } from "./acting.ts";
import { type Answer, counted, indent, timeOrNull } from "./answer.ts";
import { confirm, type Confirmation, type ConfirmationOptions } from "./confirmation.ts";
import { OperatorError } from "./operator-error.ts";
import { findApplication, readApplicationIdentifier, type Session } from "./session.ts";

const healthJson = (health: DestinationHealth) => ({
  state: isSuspended(health) ? "suspended" : health.failures > 0 ? "failing" : "takes-messages",
  failingSince: timeOrNull(health.failingSince),
  because: health.because,
  nextTryAt: health.failures === 0 || isSuspended(health) ? null : isoTime(health.pausedUntil),
});

export const destinationJson = ({ destination, health, waiting }: DestinationReport, moment: Instant) => ({
  name: destination.name,
  ...(isWebhook(destination)
    ? { kind: "webhook", url: destination.url }
    : { kind: "event-bus", eventBus: destination.eventBus }),
  health: healthJson(health),
  waiting: { ...waiting, since: timeOrNull(waiting.since) },
  // An event bus has no secret.
  secret: isWebhook(destination)
    ? {
        shownAt: timeOrNull(destination.secretEpochs[0] ?? null),
        previousSignsUntil: timeOrNull(overlapEnd(destination, moment)),
      }
    : null,
});

/** Whether a destination takes messages, as a sentence. */
export const healthText = (health: DestinationHealth): string => {
  const { state, failingSince, because, nextTryAt } = healthJson(health);
  if (state === "takes-messages") return "takes messages";
  return state === "suspended"
    ? `suspended since ${failingSince}: it answered 410 Gone`
    : `failing since ${failingSince} (${because}); next try ${nextTryAt}`;
};

const waitingText = ({ waiting: { accounts, requests, since } }: DestinationReport): string =>
  since === null
    ? "nothing waits"
    : [
        counted(accounts, "account"),
        ...(requests > 0 ? [`and ${counted(requests, "request")} of the stores`] : []),
        accounts + requests === 1 ? "waits" : "wait",
        `since ${isoTime(since)}`,
      ].join(" ");

const secretLine = (destination: Destination, moment: Instant): string[] => {
  if (!isWebhook(destination)) return [];
  const [newest] = destination.secretEpochs;
  if (newest === undefined) return ["its secret was never shown; destination rotate prints a new one"];
  const end = overlapEnd(destination, moment);
  return [
    `its secret was shown at ${isoTime(newest)}`,
    ...(end === null ? [] : [`the previous secret signs too until ${isoTime(end)}`]),
  ];
};

const reportText = (report: DestinationReport, moment: Instant): string[] => {
  const { destination, health } = report;
  return [
    isWebhook(destination)
      ? `${destination.name}  webhook  ${destination.url}`
      : `${destination.name}  event bus  ${destination.eventBus}`,
    ...indent([
      isSuspended(health) ? `${healthText(health)}; destination resume ends that` : healthText(health),
      waitingText(report),
      ...secretLine(destination, moment),
    ]),
  ];
};

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
        : reports.flatMap((report) => reportText(report, session.moment)).join("\n"),
  };
};

/** @throws OperatorError if the application has no such destination */
export const findDestination = ({ name: of, destinations }: Application, name: string): Destination => {
  const destination = destinations.find((one) => one.name === name);
  if (destination !== undefined) return destination;
  const names = destinations.map((one) => one.name).join(", ");
  throw new OperatorError(
    `${of} has no destination ${name}: ${names === "" ? "it has none" : `it has ${names}`}.`,
  );
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
