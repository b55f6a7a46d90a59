/** Everything that a test of the handlers needs. The paths and names here stay; what is behind them may move. */
export {
  startKit,
  DEFAULT_PRODUCTS,
  type IosGoods,
  type Kit,
  type KitOptions,
  type TestApplication,
} from "./kit.ts";
export { apiGatewayEvent, type EndpointRequest } from "./event.ts";
export { startDynamoDb } from "./dynamodb.ts";
export type { Answer, CalledRequest } from "./calling.ts";
export type { TestClock } from "./clock.ts";
export type { EndpointName } from "../lib/contract/endpoints.ts";
