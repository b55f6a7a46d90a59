import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";

/** A request's body that tells a test's function what to do. */
export type Behaviour =
  | { readonly do: "echo" }
  | { readonly do: "answer"; readonly with: unknown }
  | { readonly do: "repeat"; readonly length: number }
  | { readonly do: "wait"; readonly milliseconds: number }
  | { readonly do: "throw" | "crash" | "exit" };

const json = (body: unknown): APIGatewayProxyResult => ({
  statusCode: 200,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

const later = async (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds));

/** Does what the body says; answers with the event when it says nothing. */
export const behave = async (event: APIGatewayProxyEvent, context: Context): Promise<unknown> => {
  const behaviour: Behaviour =
    event.body?.startsWith('{"do":') === true ? JSON.parse(event.body) : { do: "echo" };
  switch (behaviour.do) {
    case "answer":
      return behaviour.with;
    case "repeat":
      return json("x".repeat(behaviour.length));
    case "wait":
      await later(behaviour.milliseconds);
      return json("waited");
    case "throw":
      throw new TypeError("a fault of the function");
    case "crash":
      setTimeout(() => {
        throw new Error("nobody catches this");
      });
      return later(10_000);
    case "exit":
      return process.exit(1);
    default:
      return json({
        event,
        context: { ...context, remaining: context.getRemainingTimeInMillis() },
        environment: process.env,
      });
  }
};
