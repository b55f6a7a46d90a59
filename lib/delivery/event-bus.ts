import {
  EventBridgeServiceException,
  PutEventsCommand,
  type EventBridgeClient,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from "@aws-sdk/client-eventbridge";
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

const entryOf = (busArn: string, { type, data, timestamp }: Message): PutEventsRequestEntry => ({
  EventBusName: busArn,
  Source: SENDER,
  DetailType: type,
  Detail: JSON.stringify(data),
  Time: new Date(timestamp),
});

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

/** The outcome if the request itself failed. */
const failureOf = (error: unknown, deadline: AbortSignal): SendOutcome => {
  if (error instanceof EventBridgeServiceException)
    return failedBecause("status", STATUSES[error.name] ?? error.$metadata.httpStatusCode);
  const reason = deadline.aborted ? "timeout" : networkFailure(error as object);
  if (reason === null) throw error;
  return failedBecause(reason);
};

/**
 * Makes one attempt to put a message on a bus.
 *
 * @param client with the bus's region, credentials and retries
 * @throws errors that are not from EventBridge or the network, such as missing credentials
 */
export const sendToEventBus = async (
  client: EventBridgeClient,
  busArn: string,
  message: Message,
  attemptMilliseconds: number = ATTEMPT_MILLISECONDS,
): Promise<SendOutcome> => {
  const deadline = AbortSignal.timeout(attemptMilliseconds);
  const command = new PutEventsCommand({ Entries: [entryOf(busArn, message)] });
  try {
    const { Entries = [] } = await within(deadline, client.send(command, { abortSignal: deadline }));
    return outcomeOf(Entries[0]);
  } catch (error) {
    return failureOf(error, deadline);
  }
};
