import middy from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import type * as z from "zod/mini";
import type { Endpoint } from "../../lib/contract/endpoints.ts";
import { keepingObservations } from "../observability/observe.ts";
import { presentError } from "./present-error.ts";
import { readRequest, type Call, type EventWithCall } from "./read-request.ts";
import { json } from "./response.ts";
import { writeLine } from "./write-line.ts";

/** Handler of an endpoint: event → call → use case → response or error, and a log line. */
export const endpoint = <E extends Endpoint>(
  definition: E,
  useCase: (call: Call<E>) => Promise<z.input<ReturnType<E["response"]>>>,
): ((event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>) =>
  keepingObservations(
    middy<EventWithCall<E>, APIGatewayProxyResult>()
      .use([writeLine(definition), presentError, readRequest(definition)])
      .handler(async ({ call }) => json(200, await useCase(call))),
  );
