"""The labeling tool: pages whose blocks a person labels, in a browser, and the file of their labels."""
