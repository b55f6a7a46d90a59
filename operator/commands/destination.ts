import {
  type DestinationReport,
  oldestKept,
  reportDestinations,
  resendChanges,
  type ResendStart,
  type Resent,
  resume,
  rotateSecret,
} from "../../lib/administration/acts/destinations.ts";
import { isWebhook } from "../../lib/applications/application.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import { isSuspended } from "../../lib/delivery/target.ts";
import { overlapEnd } from "../../lib/delivery/webhook-secret.ts";
import { type Instant, isoTime } from "../../lib/entitlements/time.ts";
import type { QueueHealth } from "../../lib/queues/health.ts";
import { createResendTable } from "../../lib/table/telling/delivery-queue.ts";
import { createFeedTable } from "../../lib/table/telling/changes.ts";
import { OperatorError } from "../operator-error.ts";
import { counted, type Lines } from "../text/answer.ts";
import { ACTING, entryOf, recordAct } from "./audit.ts";
import {
  APPLICATION,
  asText,
  command,
  DESTINATION,
  findDestination,
  flag,
  readTime,
  required,
} from "./command.ts";

const stateOf = (health: QueueHealth): "suspended" | "failing" | "takes-messages" => {
  if (isSuspended(health)) return "suspended";
  return health.failures > 0 ? "failing" : "takes-messages";
};

export const healthJson = (health: QueueHealth) => ({
  state: stateOf(health),
  failingSince: health.failingSince,
  because: health.because,
  nextTryAt: stateOf(health) === "failing" ? health.pausedUntil : null,
});

export const destinationJson = ({ destination, health, waiting }: DestinationReport, moment: Instant) => ({
  name: destination.name,
  ...(isWebhook(destination)
    ? { kind: "webhook", url: destination.url }
    : { kind: "event-bus", eventBus: destination.eventBus }),
  health: healthJson(health),
  waiting,
  secret: isWebhook(destination)
    ? { shownAt: destination.secretEpochs[0] ?? null, previousSignsUntil: overlapEnd(destination, moment) }
    : null,
});

export const healthText = (health: QueueHealth): string => {
  const { failures, failingSince, because, pausedUntil } = health;
  if (failures === 0 || failingSince === null) return "takes messages";
  const since = isoTime(failingSince);
  return isSuspended(health)
    ? `suspended since ${since}: it answered 410 Gone`
    : `failing since ${since} (${because}); next try ${isoTime(pausedUntil)}`;
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

const secretLines = ({ secret }: ReturnType<typeof destinationJson>): readonly Lines[] => {
  if (secret === null) return [];
  const { shownAt, previousSignsUntil } = secret;
  if (shownAt === null) return ["its secret was never shown; destination rotate prints a new one"];
  return [
    `its secret was shown at ${isoTime(shownAt)}`,
    previousSignsUntil !== null && `the previous secret signs too until ${isoTime(previousSignsUntil)}`,
  ];
};

const destinationText = (report: DestinationReport, moment: Instant): readonly Lines[] => {
  const { destination, health } = report;
  return [
    isWebhook(destination)
      ? `${destination.name}  webhook  ${destination.url}`
      : `${destination.name}  event bus  ${destination.eventBus}`,
    [
      `${healthText(health)}${isSuspended(health) ? "; destination resume ends that" : ""}`,
      waitingText(report),
      ...secretLines(destinationJson(report, moment)),
    ],
  ];
};

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
          : reports.flatMap((report) => destinationText(report, session.moment)),
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
    const end = overlapEnd(destination, moment);
    return {
      json: { secret, applicationIdentifier: identifier, destination: name, previousSignsUntil: end },
      text: [
        `secret: ${secret}`,
        "",
        "It is shown only once: store it where the receiver keeps its secrets. It signs within a minute.",
        end === null
          ? "It is the first secret that was shown: earlier messages cannot be verified."
          : `The previous secret signs too until ${isoTime(end)}: change the receiver by then.`,
      ],
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
    await recordAct(session, application, options, "resume", {
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

const INSTEAD =
  "changes are kept for 30 days. If more was missed, read each account once, then resend what has changed since.";

const readStart = (text: string, moment: Instant): ResendStart => {
  const time = readTime(text);
  if (time === null) return { cursor: text };
  if (time < oldestKept(moment))
    throw new OperatorError(`--since is before ${isoTime(oldestKept(moment))}: ${INSTEAD}`);
  return { time };
};

const sentenceOf = (error: unknown): unknown => {
  if (!(error instanceof ServiceError)) return error;
  if (error.code === "CURSOR_EXPIRED")
    return new OperatorError(`The cursor is not kept any more: ${INSTEAD}`);
  if (error.code === "INVALID_REQUEST")
    return new OperatorError(
      "--since takes a cursor that the feed has answered, or a time such as 2027-01-31T00:00:00Z: this is neither.",
    );
  return error;
};

const progressText = ({ accounts, changes, cursor, part }: Resent): string =>
  [
    `${counted(accounts, "account")} of ${counted(changes, "change")}`,
    `${Math.floor(part * 100)} %`,
    ...(cursor === null ? [] : [`if this is interrupted, go on with --since ${cursor}`]),
  ].join("; ");

export const resend = command({
  name: "destination resend",
  about: "deliver the newest version of each account that has changed since once more",
  takes: { application: APPLICATION, name: DESTINATION },
  options: {
    ...ACTING,
    since: required(
      "--since <cursor or time>",
      "a cursor of the feed, or a time such as 2027-01-31T00:00:00Z",
      asText,
    ),
  },
  run: async ({ session, application, name, options, progress }) => {
    const start = readStart(options.since, session.moment);
    const { identifier } = application;
    const reference = { application: identifier, destination: findDestination(application, name).name };
    const begin = (): Promise<void> =>
      recordAct(session, application, options, "resend", {
        what: [`begun: destination ${name} gets what changed since ${options.since} once more`],
      });
    const { store, now } = session;
    const resending = { feed: createFeedTable(store), table: createResendTable(store), now, begin };
    const { accounts, changes, cursor } = await resendChanges(resending, reference, start, (done) =>
      progress(progressText(done)),
    ).catch((error: unknown) => {
      throw sentenceOf(error);
    });
    const health = await session.deliveries.healthOf(reference);
    return {
      json: {
        applicationIdentifier: identifier,
        destination: name,
        accounts,
        changes,
        cursor: cursor ?? ("cursor" in start ? start.cursor : null),
      },
      text: [
        `${counted(accounts, "account")} of ${application.name} ${accounts === 1 ? "is" : "are"} sent to ${name} again, each with its newest version (${counted(changes, "change")}).`,
        health.failures > 0 && `${name} is ${healthText(health)}; destination resume retries it at once.`,
      ],
    };
  },
});
