import * as http from "node:http";
import * as https from "node:https";
import { LookupError } from "./checked-lookup.ts";
import type { FailureReason } from "../send-outcome.ts";

const LONGEST_HEAD_BYTES = 16 * 1024;
const LONGEST_BODY_BYTES = 64 * 1024;
const MOST_INFORMATIONAL_ANSWERS = 10;

/** Headers and body of a request. */
export interface Content {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Post extends Content {
  readonly url: URL;
  readonly agent: http.Agent;
  /** Ends the request: with the status if it has arrived, otherwise as `timeout`. */
  readonly deadline: AbortSignal;
}

export type PostResult =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | {
      readonly because: FailureReason;
      /** The connection was left open by an earlier request, so the other end may have closed it meanwhile. */
      readonly isKeptConnection: boolean;
    };

type Stage = "connect" | "tls" | "answer";

const reasonOf = (error: NodeJS.ErrnoException, stage: Stage): FailureReason => {
  if (error instanceof LookupError) return error.reason;
  if (stage !== "answer") return stage;
  return error.code?.startsWith("HPE_") === true ? "protocol" : "connect";
};

/** Reads and drops the body, so that the connection can be reused; a long body is cut off. */
const dropBody = (response: http.IncomingMessage, stop: () => void): void => {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes > LONGEST_BODY_BYTES) stop();
  });
};

/**
 * Sends one POST and resolves with the status of its answer, redirects included. Never rejects. A status that has
 * arrived counts, whatever happens to the body: the receiver has decided. The body still has until the deadline,
 * because some receivers work while they write it.
 */
export const post = ({ url, headers, text, agent, deadline }: Post): Promise<PostResult> => {
  const { promise, resolve } = Promise.withResolvers<PostResult>();
  const { request: open } = url.protocol === "https:" ? https : http;
  const request = open(url, { method: "POST", headers, agent, maxHeaderSize: LONGEST_HEAD_BYTES });
  let stage: Stage = "connect";
  let isKeptConnection = false;
  let informational = 0;
  let answer: PostResult | undefined;

  const settle = (because: FailureReason): void => {
    deadline.removeEventListener("abort", timeOut);
    resolve(answer ?? { because, isKeptConnection });
  };
  const stop = (because: FailureReason): void => {
    settle(because);
    request.destroy();
  };
  const timeOut = (): void => stop("timeout");

  request.on("socket", (socket) => {
    isKeptConnection = !socket.connecting;
    if (isKeptConnection) {
      stage = "answer";
      return;
    }
    socket.once("connect", () => (stage = url.protocol === "https:" ? "tls" : "answer"));
    socket.once("secureConnect", () => (stage = "answer"));
  });
  request.on("information", () => {
    informational += 1;
    if (informational > MOST_INFORMATIONAL_ANSWERS) stop("protocol");
  });
  request.on("upgrade", () => stop("protocol"));
  request.on("response", (response) => {
    answer = { status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] };
    dropBody(response, () => stop("protocol"));
  });
  request.on("error", (error) => settle(reasonOf(error, stage)));
  request.on("close", () => settle("connect"));
  deadline.addEventListener("abort", timeOut);
  if (deadline.aborted) timeOut();
  request.end(text);
  return promise;
};
