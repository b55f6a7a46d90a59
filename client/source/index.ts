export {
  createEntitlementsClient,
  type EntitlementsClient,
  type EntitlementsClientOptions,
} from "./client.ts";
export { EntitlementsError, type FailureCode } from "./error.ts";
export {
  MessageError,
  signMessage,
  verifyMessage,
  type AccountChangeData,
  type Message,
  type MessageFault,
  type MessageHeaders,
  type VerifyOptions,
} from "./messages.ts";
export type { CacheOptions } from "./answer-cache.ts";
export type { FeedPosition, FollowOptions } from "./changes.ts";
export type { CallOptions, Clock } from "./transport.ts";
export type {
  AccountChange,
  AccountEntitlements,
  AndroidStoreLinkRequest,
  ChangesPage,
  CustomerEntitlement,
  ErrorCode,
  ErrorIssue,
  IosStoreLinkRequest,
  LinkResponse,
  Status,
  Store,
  StoreRequest,
} from "./contract.ts";
