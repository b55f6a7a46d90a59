import {
  EventBridgeServiceException,
  PutEventsCommand,
  type EventBridgeClient,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from "@aws-sdk/client-eventbridge";
import { chunks } from "../chunks.ts";
import { within } from "../pause.ts";
import { unansweredBecause, type Unanswered } from "../unanswered.ts";
import {
  ATTEMPT_MILLISECONDS,
  failedBecause,
  SENDER,
  type FailureReason,
  type Message,
  type SendOutcome,
} from "./message.ts";

const MOST_ENTRIES = 10;
/** Entries share a request only up to a quarter of what EventBridge takes, so that a large one does not fail others. */
const SHARED_BYTES = 256 * 1024;

const entryOf = (busArn: string, { type, data, timestamp }: Message): PutEventsRequestEntry => ({
  EventBusName: busArn,
  Source: SENDER,
  DetailType: type,
  Detail: JSON.stringify(data),
  Time: new Date(timestamp),
});

const bytesOf = (entries: readonly PutEventsRequestEntry[]): number =>
  Buffer.byteLength(entries.map(({ Detail }) => Detail).join(""));

/** Entries of each request, in order: several, or one if they are large. */
const requestsOf = (
  entries: readonly PutEventsRequestEntry[],
): readonly (readonly PutEventsRequestEntry[])[] =>
  chunks(entries, MOST_ENTRIES).flatMap((some) =>
    bytesOf(some) <= SHARED_BYTES ? [some] : some.map((entry) => [entry]),
  );

/** The HTTP status that an EventBridge error stands for; most are answered with 400. */
const STATUSES: Readonly<Record<string, number>> = {
  AccessDeniedException: 403,
  InternalException: 500,
  InternalFailure: 500,
  NotAuthorizedForDetailTypeException: 403,
  NotAuthorizedForSourceException: 403,
  ThrottlingException: 429,
};

const outcomeOf = (result: PutEventsResultEntry | undefined): SendOutcome => {
  if (result === undefined) return failedBecause("protocol");
  const { ErrorCode } = result;
  return ErrorCode === undefined
    ? { outcome: "delivered" }
    : failedBecause("status", STATUSES[ErrorCode] ?? 400);
};

const NETWORK: Readonly<Record<Unanswered, FailureReason>> = {
  nameNotResolved: "name",
  connection: "connect",
  tls: "tls",
  timeout: "timeout",
};

const networkFailure = (error: {
  readonly name?: unknown;
  readonly code?: unknown;
}): FailureReason | null => {
  const word = unansweredBecause(error);
  if (word !== null) return NETWORK[word];
  return error.name === "SyntaxError" || String(error.code).startsWith("HPE_") ? "protocol" : null;
};

/** The outcome of every entry if the whole request failed. */
const failureOf = (error: unknown, deadline: AbortSignal): SendOutcome => {
  if (error instanceof EventBridgeServiceException)
    return failedBecause("status", STATUSES[error.name] ?? error.$metadata.httpStatusCode);
  const reason = deadline.aborted ? "timeout" : networkFailure(error as object);
  if (reason === null) throw error;
  return failedBecause(reason);
};

const put = async (
  client: EventBridgeClient,
  entries: readonly PutEventsRequestEntry[],
  deadline: AbortSignal,
): Promise<readonly SendOutcome[]> => {
  const command = new PutEventsCommand({ Entries: [...entries] });
  try {
    const { Entries = [] } = await within(deadline, client.send(command, { abortSignal: deadline }));
    return entries.map((_, index) => outcomeOf(Entries[index]));
  } catch (error) {
    const failure = failureOf(error, deadline);
    return entries.map(() => failure);
  }
};

/**
 * Makes one attempt to put messages on a bus: one outcome for each, in their order.
 *
 * @param client with the bus's region, credentials and retries
 * @throws errors that are not from EventBridge or the network, such as missing credentials
 */
export const sendToEventBus = async (
  client: EventBridgeClient,
  busArn: string,
  messages: readonly Message[],
  attemptMilliseconds: number = ATTEMPT_MILLISECONDS,
): Promise<readonly SendOutcome[]> => {
  const deadline = AbortSignal.timeout(attemptMilliseconds);
  const outcomes: SendOutcome[] = [];
  for (const entries of requestsOf(messages.map((message) => entryOf(busArn, message))))
    outcomes.push(...(await put(client, entries, deadline)));
  return outcomes;
};
