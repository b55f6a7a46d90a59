/** A change that the purchase does not allow now. */
export class ImpossibleChange extends Error {
  /** HTTP status. */
  readonly status: number = 409;
}

export class UnknownPurchase extends ImpossibleChange {
  override readonly status = 404;

  constructor() {
    super("There is no such purchase.");
  }
}
