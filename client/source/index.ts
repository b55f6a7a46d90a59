export {
  createEntitlementsClient,
  type EntitlementsClient,
  type EntitlementsClientOptions,
  type FeedPosition,
  type FollowOptions,
} from "./client.ts";
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
export { EntitlementsError, type CallOptions, type Clock, type FailureCode } from "./transport.ts";
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
