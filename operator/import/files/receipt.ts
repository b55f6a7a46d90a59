/**
 * Loads Apple's reader of legacy receipts, of an app or of one transaction. It validates nothing, so the transaction id
 * that it finds is only a question for the App Store.
 *
 * @see https://developer.apple.com/documentation/appstorereceipts
 */
export const loadReceiptReader = async (): Promise<(receipt: string) => string | null> => {
  // Loading takes a third of a second, and no other command needs it.
  const { ReceiptUtility } = await import("@apple/app-store-server-library");
  const utility = new ReceiptUtility();
  const tried = (read: () => string | null): string | null => {
    try {
      const transaction = read();
      return transaction !== null && /^\d{1,64}$/.test(transaction) ? transaction : null;
    } catch {
      return null;
    }
  };
  return (receipt) =>
    tried(() => utility.extractTransactionIdFromAppReceipt(receipt)) ??
    tried(() => utility.extractTransactionIdFromTransactionReceipt(receipt));
};
