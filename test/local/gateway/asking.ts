import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { ERRORS, type ErrorCode } from "../../../lib/contract/errors.ts";
import type { Behaviour } from "../functions/behaviour.ts";

export const SYNCHRONIZE = "/v1/customers/ios-store/synchronize";
export const LINK = "/v1/customers/ios-store/link";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Sent {
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
}

export const jsonOf = ({ body }: Answer) => JSON.parse(body.toString("utf8"));
export const eventOf = (answer: Answer): APIGatewayProxyEvent => jsonOf(answer).event;

/** Callers of a server. */
export const asking = ({ address }: { readonly address: string }) => {
  /** Sends the request as it is: adds no header, does not normalize the path. */
  const send = async (method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(address);
      const options = { hostname, port, method, path, headers, agent: false };
      const request = httpRequest(options, (response) => {
        const { statusCode: status = 0, headers: answered } = response;
        void response
          .toArray()
          .then((chunks) => resolve({ status, headers: answered, body: Buffer.concat(chunks) }), reject);
      });
      request.on("error", reject);
      request.end(body);
    });
  return {
    send,
    post: async (body: string | Buffer, headers: Record<string, string> = {}) =>
      send("POST", SYNCHRONIZE, { body, headers }),
    behave: async (behaviour: Behaviour, headers: Record<string, string> = {}): Promise<Answer> =>
      send("POST", SYNCHRONIZE, { body: JSON.stringify(behaviour), headers }),
    read: async (Authorization: string, account = "somebody"): Promise<Answer> =>
      send("GET", `/v1/customers/${account}/entitlements`, { headers: { Authorization } }),
  };
};

/** The parts of an error that a caller sees. */
export const shownBy = (answer: Answer) => ({
  status: answer.status,
  contentType: answer.headers["content-type"],
  body: jsonOf(answer),
});

export const refusal = (status: number, code: ErrorCode, message: string = ERRORS[code].message) => ({
  status,
  contentType: "application/json",
  body: { error: code, message },
});
