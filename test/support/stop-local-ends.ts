const stopLocalEnds = async (): Promise<void> => {
  await globalThis.dynamoDbLocal?.stop();
};

export default stopLocalEnds;
