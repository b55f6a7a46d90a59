import { createServer } from "node:http";
import { close, listen } from "../../local/server.ts";

export const CALLER = "arn:aws:sts::123456789012:assumed-role/Operators/ada@example.com";

/** @param arn null: it refuses the request */
export const stsAnswer = (arn: string | null) => ({
  status: arn === null ? 403 : 200,
  type: "text/xml",
  body:
    arn === null
      ? `<ErrorResponse><Error><Type>Sender</Type><Code>InvalidClientTokenId</Code><Message>No.</Message></Error></ErrorResponse>`
      : `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>${arn}</Arn><UserId>AIDA</UserId><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`,
});

/** A Security Token Service that names every caller alike. @param arn null: it refuses every request */
export const startTokenService = async (arn: string | null = CALLER) => {
  /** Authorization headers of its requests. */
  const asked: string[] = [];
  const { status, type, body } = stsAnswer(arn);
  const server = createServer((request, response) => {
    // A local run is asked for its time too.
    if (request.method === "POST") asked.push(request.headers.authorization ?? "");
    request.resume();
    response.writeHead(status, { "Content-Type": type }).end(body);
  });
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  return { endpoint, asked, stop: () => close(server) };
};
