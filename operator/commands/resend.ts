import {
  oldestKept,
  resendChanges,
  type Resent,
  type ResendStart,
} from "../../lib/administration/acts/resend.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { resendingOn } from "../composition.ts";
import { OperatorError } from "../operator-error.ts";
import { counted } from "../text/answer.ts";
import { healthText } from "../text/destination.ts";
import { ACTING, recordAct } from "./acting.ts";
import { APPLICATION, DESTINATION, findDestination, readTime } from "./arguments.ts";
import { command, required } from "./command.ts";

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
    ),
  },
  run: async ({ session, application, name, options, progress }) => {
    const start = readStart(options.since, session.moment);
    const { identifier } = application;
    const reference = { application: identifier, destination: findDestination(application, name).name };
    const begin = (): Promise<void> =>
      recordAct(session, identifier, options, "resend", {
        what: [`begun: destination ${name} gets what changed since ${options.since} once more`],
      });
    const resending = { ...resendingOn(session.table, session.now), begin };
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
        ...(health.failures > 0
          ? [`${name} is ${healthText(health)}; destination resume retries it at once.`]
          : []),
      ].join("\n"),
    };
  },
});
