/** Everything that a test of the handlers needs. These paths and names are stable; what is behind them may move. */
export { startKit, type Kit, type KitOptions } from "./kit.ts";
export { DEFAULT_PRODUCTS, type IosGoods, type TestApplication } from "./application.ts";
export { apiGatewayEvent, type EndpointRequest } from "./calling.ts";
export { startDynamoDb } from "./dynamodb.ts";
export type { Answer, CalledRequest } from "./calling.ts";
export type { TestClock } from "./clock.ts";
export type { EndpointName } from "../lib/contract/endpoints.ts";
