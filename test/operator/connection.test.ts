import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type Connection } from "../../operator/connection.ts";

/** What a connection keeps while the console uses it for hours. */

let aws: Server;
let answers: { status: number; type: string; body: string }[];
let connection: Connection;

beforeEach(async () => {
  answers = [];
  aws = createServer((request, response) => {
    request.resume();
    const { status, type, body } = answers.shift() ?? { status: 500, type: "text/plain", body: "" };
    response.writeHead(status, { "Content-Type": type }).end(body);
  });
  await new Promise<void>((resolve) => void aws.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(aws.address() as AddressInfo).port}`;
  connection = await connect("table", {
    AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1",
    AWS_ENDPOINT_URL_STS: endpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint,
  });
});
afterEach(async () => {
  connection.close();
  aws.closeAllConnections();
  await new Promise((resolve) => void aws.close(resolve));
});

const refusedBySts = {
  status: 403,
  type: "text/xml",
  body: "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredToken</Code><Message>No.</Message></Error></ErrorResponse>",
};
const namedBySts = (arn: string) => ({
  status: 200,
  type: "text/xml",
  body: `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`,
});

test("the AWS identity is asked for each time", async () => {
  answers = [refusedBySts, namedBySts("arn:ada"), namedBySts("arn:grace")];
  expect((await connection.caller()).name).toBeNull();
  expect((await connection.caller()).name).toBe("arn:ada");
  expect((await connection.caller()).name).toBe("arn:grace");
});

test("the master secret is read again after a failure, and then kept", async () => {
  const refused = { __type: "AccessDeniedException", message: "No." };
  const read = { Name: "master", SecretString: "x".repeat(64) };
  const type = "application/x-amz-json-1.1";
  answers = [
    { status: 400, type, body: JSON.stringify(refused) },
    { status: 200, type, body: JSON.stringify(read) },
  ];
  await expect(connection.masterSecret()).rejects.toThrow("cannot be read");
  expect((await connection.masterSecret()).byteLength).toBe(64);
  expect((await connection.masterSecret()).byteLength).toBe(64);
});
