/* What arrives at an interface, as the kernel stamps it: the truth beside a receiver that may read late.
 *
 * arrivals INTERFACE   prints "ready", and at the end of its input a line for each TCP segment with payload:
 *                      ns of CLOCK_REALTIME, ports, first sequence number, bytes of payload
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST (1 << 22)
static long long at[MOST];
static int bytes[MOST];
static unsigned ports[MOST], first[MOST];

int main(int count, char **given) {
    int packets = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)), on = 1, room = 64 << 20;
    struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
    where.sll_ifindex = count > 1 ? if_nametoindex(given[1]) : 0;
    setsockopt(packets, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    setsockopt(packets, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    if (!where.sll_ifindex || bind(packets, (struct sockaddr *)&where, sizeof where)) return 1;
    puts("ready");
    fflush(stdout);
    mlockall(MCL_CURRENT);
    int kept = 0;
    for (;;) {
        struct pollfd ends[2] = {{.fd = packets, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
        poll(ends, 2, -1);
        if (ends[1].revents) break;
        unsigned char head[96];
        char control[128];
        struct sockaddr_ll from;
        struct iovec part = {head, sizeof head};
        struct msghdr message = {&from, sizeof from, &part, 1, control, sizeof control, 0};
        ssize_t length;
        while ((length = recvmsg(packets, &message, MSG_DONTWAIT)) > 0) {
            int ip = (head[0] & 15) * 4, tcp = length > ip + 13 ? (head[ip + 12] >> 4) * 4 : 0;
            int payload = (head[2] << 8 | head[3]) - ip - tcp;
            struct cmsghdr *told = CMSG_FIRSTHDR(&message);
            if (from.sll_pkttype == PACKET_HOST && head[9] == 6 && payload > 0 && kept < MOST && told) {
                struct timespec when;
                memcpy(&when, CMSG_DATA(told), sizeof when);
                at[kept] = when.tv_sec * 1000000000LL + when.tv_nsec;
                memcpy(&ports[kept], head + ip, 4);
                memcpy(&first[kept], head + ip + 4, 4);
                bytes[kept++] = payload;
            }
            message.msg_namelen = sizeof from;
            message.msg_controllen = sizeof control;
        }
    }
    for (int one = 0; one < kept; one++) printf("%lld %u %u %d\n", at[one], ports[one], ntohl(first[one]), bytes[one]);
    struct tpacket_stats lost = {0};
    socklen_t size = sizeof lost;
    getsockopt(packets, SOL_PACKET, PACKET_STATISTICS, &lost, &size);
    fprintf(stderr, "%u not seen\n", lost.tp_drops);
    return 0;
}
