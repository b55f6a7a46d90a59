import {
  EventBridgeServiceException,
  PutEventsCommand,
  type EventBridgeClient,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from "@aws-sdk/client-eventbridge";
import { within } from "../pause.ts";
import { SENDER, type Message } from "./message.ts";
import { ATTEMPT_MILLISECONDS, failedBecause, type FailureReason, type SendOutcome } from "./send-outcome.ts";

const MOST_ENTRIES = 10;
/** EventBridge accepts less than 1 MB per request. */
const LIMIT_BYTES = 1024 * 1024;
/** Entries share a request only below EventBridge's earlier limit, so that a large one does not fail others. */
const SHARED_BYTES = 256 * 1024;
/** Size of `Time`, in EventBridge's own count. */
const TIME_BYTES = 14;

export interface EventBusSender {
  /**
   * Makes one attempt to put messages on a bus: one outcome for each, in their order. 15 seconds for all of them.
   *
   * @param busArn ARN of a bus in the client's region
   * @throws errors that are not from EventBridge or the network, such as missing credentials
   */
  send(busArn: string, messages: readonly Message[]): Promise<readonly SendOutcome[]>;
}

interface Entry {
  readonly request: PutEventsRequestEntry;
  readonly bytes: number;
}

const DELIVERED: SendOutcome = { outcome: "delivered" };
const failedWith = (status: number | null): SendOutcome => ({
  outcome: "failed",
  because: "status",
  status,
  retryAt: null,
});
const TOO_LARGE = failedWith(413);

/** @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html#eb-putevent-size */
const entryOf = (busArn: string, message: Message): Entry => {
  const detail = JSON.stringify(message.data);
  return {
    request: {
      EventBusName: busArn,
      Source: SENDER,
      DetailType: message.type,
      Detail: detail,
      Time: new Date(message.timestamp),
    },
    bytes:
      TIME_BYTES + Buffer.byteLength(SENDER) + Buffer.byteLength(message.type) + Buffer.byteLength(detail),
  };
};

/** Splits entries into requests, in order. An entry too large for a shared request is alone. */
const batchesOf = (entries: readonly Entry[]): readonly (readonly Entry[])[] => {
  const batches: Entry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const last = batches.at(-1);
    if (last !== undefined && last.length < MOST_ENTRIES && bytes + entry.bytes <= SHARED_BYTES) {
      last.push(entry);
      bytes += entry.bytes;
    } else {
      batches.push([entry]);
      bytes = entry.bytes;
    }
  }
  return batches;
};

const isTooLarge = ([first]: readonly Entry[]): boolean => first !== undefined && first.bytes >= LIMIT_BYTES;

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
  return ErrorCode === undefined ? DELIVERED : failedWith(STATUSES[ErrorCode] ?? 400);
};

const NETWORK: readonly (readonly [RegExp, FailureReason])[] = [
  [/^ETIMEDOUT$/, "timeout"],
  [/^(ENOTFOUND|EAI_AGAIN)$/, "name"],
  [/CERT|SIGNATURE|TLS|SSL|EPROTO/, "tls"],
  [/^HPE_/, "protocol"],
  [/^E[A-Z]+$/, "connect"],
];

/** Checks the code before the name: the SDK calls a reset connection a `TimeoutError` too. */
const networkFailure = ({ name, code }: { readonly name?: unknown; readonly code?: unknown }) => {
  const [, reason] = NETWORK.find(([pattern]) => typeof code === "string" && pattern.test(code)) ?? [];
  if (reason !== undefined) return reason;
  if (name === "TimeoutError") return "timeout";
  return name === "SyntaxError" ? "protocol" : null;
};

/** The outcome of every entry if the whole request failed. */
const failureOf = (error: unknown, deadline: AbortSignal): SendOutcome => {
  if (error instanceof EventBridgeServiceException)
    return failedWith(STATUSES[error.name] ?? error.$metadata.httpStatusCode ?? null);
  const reason = deadline.aborted ? "timeout" : networkFailure(error as object);
  if (reason === null) throw error;
  return failedBecause(reason);
};

/** Sends messages to event buses, with the region, credentials and retries of the client. */
export const createEventBusSender = (
  client: EventBridgeClient,
  attemptMilliseconds: number = ATTEMPT_MILLISECONDS,
): EventBusSender => {
  const put = async (batch: readonly Entry[], deadline: AbortSignal): Promise<readonly SendOutcome[]> => {
    const command = new PutEventsCommand({ Entries: batch.map(({ request }) => request) });
    try {
      const { Entries = [] } = await within(deadline, client.send(command, { abortSignal: deadline }));
      return batch.map((_entry, index) => outcomeOf(Entries[index]));
    } catch (error) {
      const failure = failureOf(error, deadline);
      return batch.map(() => failure);
    }
  };

  return {
    send: async (busArn, messages) => {
      const deadline = AbortSignal.timeout(attemptMilliseconds);
      const outcomes: SendOutcome[] = [];
      for (const batch of batchesOf(messages.map((message) => entryOf(busArn, message))))
        outcomes.push(...(isTooLarge(batch) ? [TOO_LARGE] : await put(batch, deadline)));
      return outcomes;
    },
  };
};
