/** A change that the purchase does not allow now. */
export class ImpossibleChange extends Error {}
