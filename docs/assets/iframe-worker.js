// Pages that are opened from a disk may start no worker, and the search of the theme is one. There
// its script runs in a hidden frame instead, which sends and takes the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inside = frame.contentDocument;
      this.frame = frame;
      window.addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      });
      inside.open();
      inside.write(`<script>
        postMessage = (data) => parent.postMessage(data, "*");
        importScripts = (...addresses) => addresses.reduce((before, address) => before.then(() =>
          new Promise((resolve, reject) => {
            const script = document.createElement("script");
            Object.assign(script, { src: address, onload: resolve, onerror: reject });
            document.body.append(script);
          })), Promise.resolve());
      <\/script><body><script src="${address}"><\/script>`);
      const script = inside.querySelector("script[src]");
      this.ready = new Promise((resolve) => script.addEventListener("load", resolve));
      inside.close();
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
