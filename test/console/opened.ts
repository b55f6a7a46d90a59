import { connect } from "../../operator/connection.ts";
import { serveConsole } from "../../operator/console/server.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { asking } from "../local/gateway/asking.ts";
import type { Given } from "../operator/telling-world.ts";

/** Any JSON; reading a path that does not exist fails the test. */
export type Json = ReturnType<typeof JSON.parse>;

/** Serves the console of a deployed table, to which nobody was admitted yet. */
export const serve = async ({ table, operator }: Given) => {
  const environment = { ...process.env, AWS_ENDPOINT_URL_SECRETS_MANAGER: operator.secretsManager };
  const pause = () => Promise.resolve();
  const effects = { now: () => NOW, wait: pause, waitForIndex: pause };
  const served = await serveConsole(await connect(table.name, environment), effects, 0, () => undefined);
  const { host, pathname, search } = new URL(served.address);
  const { send } = asking(served);
  /** Sends what a browser would, `Host` included. */
  const ask = async (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body = "",
  ) => {
    const answer = await send(method, path, { headers: { Host: host, ...headers }, body });
    return { status: answer.status, headers: answer.headers, text: answer.body.toString("utf8") };
  };
  return { host, path: pathname + search, ask, stop: served.stop };
};

/** The console in the browser that was let in. */
export const open = async (given: Given) => {
  const served = await serve(given);
  const { headers } = await served.ask("GET", served.path);
  const cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
  /** Path of the page, which only its browser knows. */
  const page = String(headers["location"]);
  const own = {
    Cookie: cookie,
    Origin: `http://${served.host}`,
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/json",
  };
  return {
    ...served,
    cookie,
    page,
    own,
    call: async (name: string, input: unknown): Promise<{ status: number; body: Json }> => {
      const { status, text } = await served.ask("POST", `${page}api/${name}`, own, JSON.stringify(input));
      return { status, body: JSON.parse(text) };
    },
  };
};
