import { Agent, createServer } from "node:http";
import { close, listen } from "../../../local/server.ts";
import { post } from "../../../lib/delivery/webhook/post.ts";

test("nothing is sent after the deadline", async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end();
  });
  const url = new URL(`http://127.0.0.1:${await listen(server, 0)}/`);
  const agent = new Agent();
  const request = { url, headers: {}, text: "{}", agent };
  expect(await post({ ...request, deadline: AbortSignal.abort() })).toMatchObject({ because: "timeout" });
  expect(await post({ ...request, deadline: new AbortController().signal })).toMatchObject({ status: 200 });
  expect(requests).toBe(1);
  await close(server);
});
